//! stub
use netenf_k8s::lifecycle::Resource;
/// The object as neat YAML.
pub fn to_neat_yaml(object: &Resource) -> Result<String, crate::StoreError> {
    serde_saphyr::to_string(object).map_err(|error| crate::StoreError::Format { key: object.key(), cause: error.to_string() })
}
