//! The login for `payload.slipwayImage`, which the bootstrap machine fetches before there is a kubelet that could.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The login in a pull secret for an image, as `user:password` in base64: that of the longest path which the image is below,
/// as the kubelet chooses.
pub(super) fn login(pull_secret: &str, image: &str) -> Option<String> {
    let secret: Value = serde_json::from_str(pull_secret).ok()?;
    let entries = secret["auths"].as_object()?.iter();
    let below = entries.filter(|(place, _)| is_below(image, place));
    let (_, entry) = below.max_by_key(|(place, _)| bare(place).len())?;
    if let Some(auth) = entry["auth"].as_str().filter(|auth| !auth.is_empty()) {
        return Some(auth.to_owned());
    }
    let (user, password) = (entry["username"].as_str()?, entry["password"].as_str()?);
    Some(STANDARD.encode(format!("{user}:{password}")))
}

/// Without a scheme, and without the version of the API that docker adds.
fn bare(place: &str) -> &str {
    let place = place.strip_prefix("https://").or_else(|| place.strip_prefix("http://")).unwrap_or(place);
    let place = place.trim_end_matches('/');
    place.strip_suffix("/v1").or_else(|| place.strip_suffix("/v2")).unwrap_or(place)
}

/// Whether an image is of a registry, or of a path in it.
fn is_below(image: &str, place: &str) -> bool {
    let place = match bare(place) {
        "index.docker.io" => "docker.io",
        other => other,
    };
    image.strip_prefix(place).is_some_and(|rest| rest.starts_with(['/', ':', '@']))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::login;

    const SECRET: &str = r#"{"auths": {
        "registry.example.com": {"auth": "d2hvbGU="},
        "registry.example.com/slipway": {"username": "robot", "password": "swordfish"},
        "registry.example.com/slip": {"auth": "c2xpcA=="},
        "other.example.com:5000": {"auth": "b3RoZXI="},
        "https://index.docker.io/v1/": {"auth": "ZG9ja2Vy"},
        "empty.example.com": {}
    }}"#;

    #[rstest]
    #[case::registry("registry.example.com/a/b:v1", Some("d2hvbGU="))]
    #[case::longest("registry.example.com/slipway/slipway:v1", Some("cm9ib3Q6c3dvcmRmaXNo"))]
    #[case::whole_words("registry.example.com/slipper:v1", Some("d2hvbGU="))]
    #[case::the_image_itself("registry.example.com/slip@sha256:00", Some("c2xpcA=="))]
    #[case::port("other.example.com:5000/slipway", Some("b3RoZXI="))]
    #[case::docker("docker.io/slipway/slipway:v1", Some("ZG9ja2Vy"))]
    #[case::nobody("quay.io/slipway/slipway:v1", None)]
    #[case::longer_name("registry.example.com.evil.org/slipway:v1", None)]
    #[case::empty("empty.example.com/slipway:v1", None)]
    fn chosen(#[case] image: &str, #[case] expected: Option<&str>) {
        assert_eq!(login(SECRET, image).as_deref(), expected);
        assert_eq!(login("{}", image), None);
        assert_eq!(login("no JSON", image), None);
    }
}
