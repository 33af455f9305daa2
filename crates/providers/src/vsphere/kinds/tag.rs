//! The cluster's tag category and tag: what everything else of it is found by.

use slipway_config::ids::InfraId;
use slipway_engine::{Endpoint, Goal, Id, Observed, Resource, Step};

use super::{Action, Desired, Kind, KindError, State, VCenter, absent, need, step};

/// Kinds of objects the tag is for. Sorted: vCenter takes another order for another category.
const KINDS: [&str; 5] = ["Datastore", "Folder", "ResourcePool", "StoragePod", "VirtualMachine"];

/// A category with one tag, both named after the cluster.
#[derive(Debug, Clone)]
pub struct Tag {
    pub category: String,
    pub tag: String,
    pub description: String,
}

impl Tag {
    /// A cluster's tag on one vCenter, as a resource.
    pub fn of_cluster(endpoint: &Endpoint, infra_id: &InfraId, goal: Goal) -> Resource<Desired> {
        let tag = Tag {
            category: infra_id.tag_category(),
            tag: infra_id.to_string(),
            description: format!("Belongs to the cluster {infra_id}; added by slipway"),
        };
        let id = Kind::Tag.id(endpoint, infra_id.as_str());
        Resource { id, goal, desired: Desired::Tag(tag), depends_on: Vec::new(), rank: 1, hold: None }
    }

    pub(super) fn next(&self, id: &Id, goal: Goal, own: Option<&State>) -> Option<Step<Action>> {
        let Tag { category, tag, .. } = self;
        let (action, verb, sentence, privilege) = match (goal, own) {
            (Goal::Present, None) => (
                Action::CreateCategory,
                "create category",
                format!("create the tag category `{category}`"),
                "CreateCategory",
            ),
            (Goal::Present, Some(State::Tag { tag: None, .. })) => (
                Action::CreateTag,
                "create tag",
                format!("create the tag `{tag}` in `{category}`"),
                "CreateTag",
            ),
            (Goal::Absent, Some(State::Tag { tag: Some(_), .. })) => {
                (Action::DeleteTag, "delete tag", format!("delete the tag `{tag}`"), "DeleteTag")
            }
            (Goal::Absent, Some(_)) => (
                Action::DeleteCategory,
                "delete category",
                format!("delete the tag category `{category}`"),
                "DeleteCategory",
            ),
            (Goal::Present, Some(_)) | (Goal::Absent, None) => return None,
        };
        let mut step = step(id, action, verb, sentence);
        step.privileges = vec![need("/", &format!("InventoryService.Tagging.{privilege}"))];
        step.undo = (goal == Goal::Present).then(|| "`slipway destroy cluster` deletes it".to_owned());
        Some(step)
    }

    pub(super) async fn perform(
        &self,
        vcenter: &VCenter,
        observed: &Observed<State>,
        action: Action,
    ) -> Result<Option<State>, KindError> {
        let client = &vcenter.client;
        let own = match &observed.own {
            Some(State::Tag { category, tag, .. }) => Some((category.clone(), tag.clone())),
            _ => None,
        };
        let instance = client.content().await?.about.instance_uuid.clone();
        match (action, own) {
            (Action::CreateCategory, _) => {
                let category = client.create_category(&self.category, &self.description, &KINDS).await?;
                Ok(Some(State::Tag { vcenter: instance, category, tag: None }))
            }
            (Action::CreateTag, Some((category, _))) => {
                let tag = client.create_tag(&category, &self.tag, &self.description).await?;
                vcenter.remember_tag(Some(tag.clone()));
                Ok(Some(State::Tag { vcenter: instance, category, tag: Some(tag) }))
            }
            (Action::DeleteTag, Some((category, Some(tag)))) => {
                self.check_unused(vcenter, &tag).await?;
                client.delete_tag(&tag).await?;
                vcenter.remember_tag(None);
                Ok(Some(State::Tag { vcenter: instance, category, tag: None }))
            }
            (Action::DeleteCategory, Some((category, _))) => {
                let left = client.tags_in(&category).await?;
                if !left.is_empty() {
                    let names: Vec<String> = left.into_iter().map(|tag| format!("`{}`", tag.name)).collect();
                    return Err(KindError::Refused(format!(
                        "the category `{}` has tags that are not of this cluster: {}",
                        self.category,
                        names.join(", ")
                    )));
                }
                client.delete_category(&category).await?;
                Ok(None)
            }
            _ => Err(absent("tag category")),
        }
    }

    /// With the tag goes the last thing that says what belongs to the cluster.
    async fn check_unused(&self, vcenter: &VCenter, tag: &str) -> Result<(), KindError> {
        let carriers = vcenter.client.objects_of(&[tag.to_owned()]).await?;
        let carriers: Vec<_> = carriers.into_values().flatten().collect();
        if carriers.is_empty() {
            return Ok(());
        }
        let shown = &carriers[..carriers.len().min(5)];
        let mut paths = vcenter.client.paths(shown).await?;
        paths.sort();
        Err(KindError::Refused(format!(
            "the tag `{}` is still on {} objects: {}",
            self.tag,
            carriers.len(),
            paths.join(", ")
        )))
    }
}
