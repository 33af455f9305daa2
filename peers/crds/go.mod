// Writes the real CRDs of other projects; see main.go.
module slipway/peers/crds

go 1.26.0

require (
	github.com/k8snetworkplumbingwg/network-attachment-definition-client v1.7.7
	github.com/openshift/api v0.0.0-20260715165912-72066cc9718b
	gopkg.in/yaml.v3 v3.0.1
	kubevirt.io/containerized-data-importer v1.61.1
	sigs.k8s.io/cluster-api v1.11.1
	sigs.k8s.io/cluster-api-provider-vsphere v1.14.0
)
