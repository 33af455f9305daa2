// Writes the manifests that the vSphere drivers ship inside their Go modules; see main.go.
module slipway/peers/driver-manifests

go 1.26.0
