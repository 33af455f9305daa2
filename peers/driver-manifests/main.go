// Command driver-manifests writes the manifests that the vSphere drivers ship inside their Go modules:
//
//	driver-manifests OUTDIR
//
// It writes OUTDIR/DRIVER-VERSION/NAME.yaml, byte for byte as in the module. Run it in the directory of its own
// go.mod: it has the go command download the modules, which compares them with the sums in go.sum. They are not
// dependencies: two versions of a module cannot be, and none of their code is needed.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	cpi = "k8s.io/cloud-provider-vsphere"
	csi = "sigs.k8s.io/vsphere-csi-driver/v3"
)

var wanted = []struct{ module, version, file, out string }{
	// The newest module carries the manifests of the earlier lines as well.
	{cpi, "v1.36.0", "releases/v1.31/vsphere-cloud-controller-manager.yaml", "cpi-1.31/manager.yaml"},
	{cpi, "v1.36.0", "releases/v1.32/vsphere-cloud-controller-manager.yaml", "cpi-1.32/manager.yaml"},
	{cpi, "v1.36.0", "releases/v1.33/vsphere-cloud-controller-manager.yaml", "cpi-1.33/manager.yaml"},
	{cpi, "v1.34.0", "releases/v1.34/vsphere-cloud-controller-manager.yaml", "cpi-1.34/manager.yaml"},
	{cpi, "v1.36.0", "releases/v1.35/vsphere-cloud-controller-manager.yaml", "cpi-1.35/manager.yaml"},
	{cpi, "v1.36.0", "releases/v1.36/vsphere-cloud-controller-manager.yaml", "cpi-1.36/manager.yaml"},
	{csi, "v3.3.1", "manifests/vanilla/namespace.yaml", "csi-3.3/namespace.yaml"},
	{csi, "v3.3.1", "manifests/vanilla/vsphere-csi-driver.yaml", "csi-3.3/driver.yaml"},
	{csi, "v3.3.1", "manifests/vanilla/validatingwebhook.yaml", "csi-3.3/webhook.yaml"},
	{csi, "v3.7.0", "manifests/vanilla/namespace.yaml", "csi-3.7/namespace.yaml"},
	{csi, "v3.7.0", "manifests/vanilla/vsphere-csi-driver.yaml", "csi-3.7/driver.yaml"},
	{csi, "v3.7.0", "manifests/vanilla/validatingwebhook.yaml", "csi-3.7/webhook.yaml"},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: driver-manifests OUTDIR")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out string) error {
	folders := map[string]string{}
	for _, w := range wanted {
		name := w.module + "@" + w.version
		if folders[name] == "" {
			folder, err := download(name)
			if err != nil {
				return err
			}
			folders[name] = folder
		}
		text, err := os.ReadFile(filepath.Join(folders[name], w.file))
		if err != nil {
			return err
		}
		to := filepath.Join(out, w.out)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("%d files of %d modules\n", len(wanted), len(folders))
	return nil
}

// download says where a module is.
func download(name string) (string, error) {
	command := exec.Command("go", "mod", "download", "-json", name)
	command.Stderr = os.Stderr
	output, err := command.Output()
	var module struct{ Dir, Error string }
	if broken := json.Unmarshal(output, &module); broken == nil && module.Error != "" {
		return "", fmt.Errorf("downloading %s: %s", name, module.Error)
	}
	if err != nil {
		return "", fmt.Errorf("downloading %s: %w", name, err)
	}
	return module.Dir, nil
}
