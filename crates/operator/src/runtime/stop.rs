//! Ending in time.

use tokio::sync::watch;

/// Waits for the stop: by `true`, or by the sender's end, after which none could come.
pub async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await.map(drop);
}

/// Waits for the stop, by `true` only. For what must not end halfway because its sender did.
pub async fn ordered(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Works until the stop.
pub async fn until_stopped(mut stop: watch::Receiver<bool>, work: impl Future<Output = ()>) {
    tokio::select! {
        () = work => {}
        () = stopped(&mut stop) => {}
    }
}
