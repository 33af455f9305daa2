// govmomi's requests and anybody else's, written down side by side (see main.go).
module slipway.test/peers/recorder

go 1.26

require github.com/vmware/govmomi v0.56.0

require (
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
