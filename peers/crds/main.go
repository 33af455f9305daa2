// Command crds writes the CRDs that other projects ship inside their Go modules:
//
//	crds OUTDIR
//
// It writes OUTDIR/PROJECT/PLURAL.GROUP.yaml, byte for byte as in the module, and prints how many
// there are of each project. Run it in the directory of its own go.mod (or with go run): it asks
// the go command where the modules are, and has them downloaded when they are not there yet.
//
// KubeVirt makes its CRDs in code that needs other versions of the same modules; they come from
// the module kubevirt-crds next to this one.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	// Not for their code: an imported package keeps the module, and its checksum, in go.mod and
	// go.sum. These hardly import anything themselves.
	_ "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io"
	_ "github.com/openshift/api/config/v1/zz_generated.crd-manifests"
	cdi "kubevirt.io/containerized-data-importer/pkg/operator/resources"
	_ "sigs.k8s.io/cluster-api-provider-vsphere/pkg/version"
	_ "sigs.k8s.io/cluster-api/errors"
)

// projects says which files of which module hold CRDs; keep, which of them are wanted.
var projects = []struct {
	name, module string
	globs        []string
	keep         func(crd) bool
}{
	{"cluster-api", "sigs.k8s.io/cluster-api", []string{
		"config/crd/bases/*.yaml",
		"bootstrap/kubeadm/config/crd/bases/*.yaml",
		"controlplane/kubeadm/config/crd/bases/*.yaml",
	}, nil},
	{"cluster-api-provider-vsphere", "sigs.k8s.io/cluster-api-provider-vsphere", []string{
		"config/default/crd/bases/*.yaml", // the other set there is for supervisor clusters
	}, nil},
	{"multus", "github.com/k8snetworkplumbingwg/network-attachment-definition-client", []string{
		"artifacts/networks-crd.yaml", // the only other one is for apiextensions v1beta1
	}, nil},
	{"openshift", "github.com/openshift/api", []string{
		"config/*/zz_generated.crd-manifests/*.yaml",
		"machine/*/zz_generated.crd-manifests/*.yaml",
		"machineconfiguration/*/zz_generated.crd-manifests/*.yaml",
		"operator/*/zz_generated.crd-manifests/*.yaml",
	}, standalone},
}

type crd struct {
	Kind     string
	Metadata struct {
		Name        string
		Annotations map[string]string
	}
}

// standalone tells which variant of an OpenShift CRD a cluster gets that hosts its own control
// plane and has the feature set Default. The variants differ in their file names too, but the
// annotations are what the installer goes by: no feature set at all means every one of them.
// A CRD behind a feature gate of its own is not part of Default.
func standalone(c crd) bool {
	a := c.Metadata.Annotations
	set, limited := a["release.openshift.io/feature-set"]
	_, gated := a["release.openshift.io/feature-gate"]
	return a["include.release.openshift.io/self-managed-high-availability"] == "true" &&
		(!limited || strings.Contains(","+set+",", ",Default,")) && !gated
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: crds OUTDIR")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "crds:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	total := 0
	for _, p := range projects {
		dir, err := moduleDir(p.module)
		if err != nil {
			return err
		}
		texts, dirs := map[string][]byte{}, map[string]string{}
		for _, glob := range p.globs {
			files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(glob)))
			if err != nil {
				return err
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				c, err := parse(text)
				if err != nil {
					return fmt.Errorf("%s: %w", file, err)
				}
				if p.keep != nil && !p.keep(c) {
					continue
				}
				name := c.Metadata.Name
				if dirs[name] == "" {
					texts[name], dirs[name] = text, filepath.Dir(file)
				} else if dirs[name] == filepath.Dir(file) {
					return fmt.Errorf("%s: another variant of the same CRD was chosen as well", file)
				}
				// else: OpenShift has some CRDs once per API version, in one directory for
				// each; the first is the most stable one (v1, v1alpha1, ...).
			}
		}
		if err := write(out, p.name, texts); err != nil {
			return err
		}
		total += len(texts)
	}

	texts := map[string][]byte{}
	for _, text := range cdi.CDICRDs {
		c, err := parse([]byte(text))
		if err != nil {
			return fmt.Errorf("containerized-data-importer: %w", err)
		}
		texts[c.Metadata.Name] = []byte(text)
	}
	if err := write(out, "containerized-data-importer", texts); err != nil {
		return err
	}
	fmt.Println("total", total+len(texts))
	return nil
}

func parse(text []byte) (c crd, err error) {
	if err := yaml.Unmarshal(text, &c); err != nil {
		return c, err
	}
	if c.Kind != "CustomResourceDefinition" || c.Metadata.Name == "" {
		return c, fmt.Errorf("%s %q is no CRD", c.Kind, c.Metadata.Name)
	}
	return c, nil
}

func write(out, project string, texts map[string][]byte) error {
	if len(texts) == 0 {
		return fmt.Errorf("%s: no CRDs", project)
	}
	dir := filepath.Join(out, project)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), text, 0o644); err != nil {
			return err
		}
	}
	fmt.Println(project, len(texts))
	return nil
}

// moduleDir has the version in go.mod downloaded, checked against go.sum, and says where it is.
func moduleDir(module string) (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	var answer struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(text, &answer); jsonErr == nil && answer.Error != "" {
		return "", fmt.Errorf("%s: %s", module, answer.Error)
	}
	if err != nil {
		return "", fmt.Errorf("%s: go mod download: %w", module, err)
	}
	return answer.Dir, nil
}
