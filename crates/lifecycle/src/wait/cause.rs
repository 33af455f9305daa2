//! Why somebody does not answer, in words that say what to look at.

/// What an error of a connection to a server means.
pub fn of_connection(server: &str, error: &str) -> String {
    let has = |words: &[&str]| words.iter().any(|word| error.contains(word));
    if has(&["dns error", "failed to lookup address", "cannot be resolved", "Name or service not known"]) {
        format!("`{server}` cannot be resolved from here: check DNS")
    } else if has(&["NotValidYet", "not valid yet"]) {
        format!(
            "the certificate of {server} is not valid yet by this machine's clock: compare the clocks of this machine and the \
             cluster's"
        )
    } else if has(&["Expired", "expired"]) {
        format!(
            "the certificate of {server} has expired by this machine's clock: compare the clocks; if they agree, the files of \
             the cluster are too old, and must be made anew"
        )
    } else if has(&["UnknownIssuer", "BadSignature", "unable to get local issuer"]) {
        format!(
            "the certificate of {server} was not signed by this cluster: another server answers there, or the files are those \
             of another cluster"
        )
    } else if has(&["NotValidForName", "not valid for name"]) {
        format!("the certificate of {server} is for another name: another server answers there")
    } else if has(&["Connection refused", "connection refused"]) {
        format!("nothing listens at {server} yet")
    } else if has(&[
        "No route to host",
        "no route to host",
        "etwork unreachable",
        "Network is unreachable",
        "Host is unreachable",
    ]) {
        format!(
            "there is no way to {server} from here: check the network, and whether a machine has the address"
        )
    } else if has(&["timed out", "deadline has elapsed", "operation timed out", "Timeout"]) {
        format!("{server} does not answer: check firewalls, and whether a machine has the address")
    } else if has(&["Unauthorized", "401"]) {
        format!(
            "{server} does not accept the administrator's certificate: compare the clocks, and auth/kubeconfig"
        )
    } else {
        format!("{server}: {error}")
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::of_connection;

    #[rstest]
    #[case("client error (Connect): dns error: failed to lookup address information", "check DNS")]
    #[case("invalid peer certificate: certificate not valid yet: verification time", "compare the clocks")]
    #[case("invalid peer certificate: Expired", "has expired")]
    #[case("invalid peer certificate: UnknownIssuer", "was not signed by this cluster")]
    #[case("tcp connect error: Connection refused (os error 111)", "nothing listens")]
    #[case("tcp connect error: No route to host (os error 113)", "no way to")]
    #[case("deadline has elapsed", "does not answer")]
    #[case("ApiError: Unauthorized: Unauthorized", "administrator's certificate")]
    #[case("something new", "something new")]
    fn errors_are_explained(#[case] error: &str, #[case] says: &str) {
        let text = of_connection("api.harbour.example.com:6443", error);
        assert!(text.contains(says), "{text}");
        assert!(text.contains("api.harbour.example.com:6443"), "{text}");
    }
}
