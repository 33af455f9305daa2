// The configuration readers of the vSphere cloud provider, behind a line protocol (see main.go).
module slipway/peers/cpi-reader

go 1.26

require (
	gopkg.in/gcfg.v1 v1.2.3
	gopkg.in/warnings.v0 v0.1.2
	k8s.io/cloud-provider-vsphere v1.34.0
)

require (
	github.com/go-logr/logr v1.4.2 // indirect
	github.com/vmware/vsphere-automation-sdk-go/runtime v0.7.0 // indirect
	github.com/vmware/vsphere-automation-sdk-go/services/nsxt v0.12.0 // indirect
	golang.org/x/text v0.28.0 // indirect
	gopkg.in/yaml.v2 v2.4.0 // indirect
	k8s.io/apimachinery v0.34.0 // indirect
	k8s.io/klog/v2 v2.130.1 // indirect
)
