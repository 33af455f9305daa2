//! Copies of objects, kept up to date. Each kind is watched once, however many controllers need it, and only if one does.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::ops::Deref;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::{Lookup, ObjectRef, Store, reflector, store};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::nodes::Nodes;
use super::trigger::Trigger;

/// What tells two watches apart: the type that is kept, where its objects are, and which of them are wanted.
type Key = (TypeId, String, Option<String>, Option<String>);

/// A watch, and the controllers that it wakes.
struct Kept<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: std::hash::Hash + Eq + Clone + Debug,
{
    mirror: Mirror<K>,
    wakes: Wakes,
}

/// A copy of objects. Any number of controllers may wait until it is complete: a store alone wakes only the last of them.
#[derive(Debug, Clone)]
pub struct Mirror<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: std::hash::Hash + Eq + Clone + Debug,
{
    store: Store<K>,
    complete: watch::Receiver<bool>,
}

impl<K> Mirror<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: std::hash::Hash + Eq + Clone + Debug,
{
    /// Waits until all objects have been read once. Fails when the watches end before.
    pub async fn wait_until_ready(&self) -> Result<(), watch::error::RecvError> {
        self.complete.clone().wait_for(|complete| *complete).await.map(drop)
    }
}

impl<K> Deref for Mirror<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: std::hash::Hash + Eq + Clone + Debug,
{
    type Target = Store<K>;

    fn deref(&self) -> &Store<K> {
        &self.store
    }
}

type Wakes = Arc<Mutex<Vec<Trigger>>>;

/// How long the API server keeps a short watch open.
const SHORT_WATCH_SECONDS: u32 = 30;
/// A short watch that is silent for longer is at a server that is gone: a virtual address moves without a word.
pub const SHORT_WATCH_TIMEOUT: Duration = Duration::from_secs(40);

/// Of watches that must notice soon that their API server went away.
pub fn short() -> Config {
    Config::default().timeout(SHORT_WATCH_SECONDS)
}

/// The watches of a process. They end with the last clone.
#[derive(Clone)]
pub struct Watches {
    client: Client,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    kept: Mutex<HashMap<Key, Box<dyn Any + Send + Sync>>>,
    nodes: Mutex<Option<Nodes>>,
    tasks: Mutex<JoinSet<()>>,
}

impl Debug for Watches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watches").field("kept", &lock(&self.shared.kept).len()).finish_non_exhaustive()
    }
}

impl Watches {
    pub fn new(client: Client) -> Self {
        Watches { client, shared: Arc::default() }
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    /// A copy of all objects of a kind; their changes wake the trigger.
    pub fn keep<K>(&self, api: Api<K>, trigger: &Trigger) -> Mirror<K>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    {
        self.keep_some(api, Config::default(), trigger)
    }

    /// A copy of some objects of a kind.
    pub fn keep_some<K>(&self, api: Api<K>, config: Config, trigger: &Trigger) -> Mirror<K>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    {
        let key: Key = (
            TypeId::of::<K>(),
            api.resource_url().to_owned(),
            config.label_selector.clone(),
            config.field_selector.clone(),
        );
        let mut kept = lock(&self.shared.kept);
        if let Some(known) = kept.get(&key).and_then(|known| known.downcast_ref::<Kept<K>>()) {
            lock(&known.wakes).push(trigger.clone());
            return known.mirror.clone();
        }
        let (reader, writer) = store::<K>();
        let (completed, complete) = watch::channel(false);
        let mirror = Mirror { store: reader, complete };
        let wakes: Wakes = Arc::new(Mutex::new(vec![trigger.clone()]));
        kept.insert(key, Box::new(Kept { mirror: mirror.clone(), wakes: Arc::clone(&wakes) }));
        drop(kept);
        self.spawn(async move {
            let mut events = pin!(reflector(writer, watcher(api, config).default_backoff()));
            while let Some(event) = events.next().await {
                match event {
                    Ok(event) => {
                        if matches!(event, Event::InitDone) {
                            completed.send_replace(true);
                        }
                        lock(&wakes).iter().for_each(Trigger::wake);
                    }
                    Err(error) => tracing::warn!(%error, "a watch was interrupted"),
                }
            }
        });
        mirror
    }

    /// The nodes in short.
    pub fn nodes(&self) -> Nodes {
        let mut nodes = lock(&self.shared.nodes);
        nodes.get_or_insert_with(|| Nodes::follow(self.client.clone(), &mut lock(&self.shared.tasks))).clone()
    }

    /// Does something as long as the watches run.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        lock(&self.shared.tasks).spawn(task);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The version of an object, if it exists.
pub fn version<K>(store: &Store<PartialObjectMeta<K>>, namespace: &str, name: &str) -> Option<String>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
    PartialObjectMeta<K>: Resource<DynamicType = ()>,
{
    let found = store.get(&ObjectRef::new(name).within(namespace))?;
    found.metadata.resource_version.clone()
}

/// The versions of all objects.
pub fn versions<K>(store: &Store<PartialObjectMeta<K>>) -> Vec<Option<String>>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
    PartialObjectMeta<K>: Resource<DynamicType = ()>,
{
    let mut all: Vec<Option<String>> =
        store.state().iter().map(|object| object.metadata.resource_version.clone()).collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use axum::http::{Request, Response};
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    use kube::client::Body;
    use kube::core::PartialObjectMeta;
    use kube::{Api, Client};
    use tokio::sync::watch;
    use tokio::time::Instant;

    use super::{Arc, Config, Watches};
    use crate::runtime::trigger::{Controller, Trigger};

    /// An API server that has nothing, and counts how often it is asked for all of it.
    fn empty(lists: &Arc<AtomicUsize>) -> Client {
        let lists = Arc::clone(lists);
        let server = tower::service_fn(move |request: Request<Body>| {
            let lists = Arc::clone(&lists);
            async move {
                if request.uri().query().is_some_and(|query| query.contains("watch=")) {
                    std::future::pending::<()>().await;
                }
                lists.fetch_add(1, Ordering::SeqCst);
                let list = r#"{"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "1"}, "items": []}"#;
                Ok::<_, Infallible>(Response::new(Body::from(list.as_bytes().to_vec())))
            }
        });
        Client::new(server, "default")
    }

    /// Ends at its second pass, which only a change leads to.
    struct Woken(u32, watch::Sender<bool>);

    impl Controller for Woken {
        async fn pass(&mut self) -> Instant {
            self.0 += 1;
            self.1.send_replace(self.0 > 1);
            Instant::now() + Duration::from_hours(1)
        }
    }

    #[tokio::test]
    async fn a_kind_is_watched_once_and_wakes_all_that_need_it() {
        let lists = Arc::new(AtomicUsize::new(0));
        let watches = Watches::new(empty(&lists));
        let secrets = || -> Api<PartialObjectMeta<Secret>> {
            Api::namespaced(watches.client().clone(), "slipway-system")
        };
        let triggers = [Trigger::new(Duration::ZERO), Trigger::new(Duration::ZERO)];
        let stores = triggers.each_ref().map(|trigger| watches.keep(secrets(), trigger));
        // Each from a task of its own, all before there is anything.
        let waits: Vec<_> = stores
            .into_iter()
            .map(|store| tokio::spawn(async move { store.wait_until_ready().await.unwrap() }))
            .collect();
        for wait in waits {
            wait.await.unwrap();
        }
        for trigger in triggers {
            let (sender, stop) = watch::channel(false);
            trigger.run(stop, &mut Woken(0, sender)).await;
        }
        assert_eq!(lists.load(Ordering::SeqCst), 1);

        // Others are other watches.
        let trigger = Trigger::new(Duration::ZERO);
        let labelled = watches.keep_some(secrets(), Config::default().labels("a"), &trigger);
        labelled.wait_until_ready().await.unwrap();
        let maps: Api<ConfigMap> = Api::namespaced(watches.client().clone(), "slipway-system");
        watches.keep(maps, &trigger).wait_until_ready().await.unwrap();
        assert_eq!(lists.load(Ordering::SeqCst), 3);
    }
}
