//! The custom resources of networkenforcer.kubewarden.io/v1alpha1.
