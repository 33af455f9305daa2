// Command kubevirt-crds writes the CRDs that the KubeVirt operator would install:
//
//	kubevirt-crds OUTDIR
//
// KubeVirt ships no YAML of them (apart from its own configuration); the operator makes them with
// the functions that are called here.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
	"sigs.k8s.io/yaml"
)

var crds = []func() (*apiextensions.CustomResourceDefinition, error){
	components.NewKubeVirtCrd,
	components.NewMigrationPolicyCrd,
	components.NewPresetCrd,
	components.NewReplicaSetCrd,
	components.NewVirtualMachineCloneCrd,
	components.NewVirtualMachineClusterInstancetypeCrd,
	components.NewVirtualMachineClusterPreferenceCrd,
	components.NewVirtualMachineCrd,
	components.NewVirtualMachineExportCrd,
	components.NewVirtualMachineInstanceCrd,
	components.NewVirtualMachineInstanceMigrationCrd,
	components.NewVirtualMachineInstancetypeCrd,
	components.NewVirtualMachinePoolCrd,
	components.NewVirtualMachinePreferenceCrd,
	components.NewVirtualMachineRestoreCrd,
	components.NewVirtualMachineSnapshotContentCrd,
	components.NewVirtualMachineSnapshotCrd,
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: kubevirt-crds OUTDIR")
		os.Exit(2)
	}
	if err := run(filepath.Join(os.Args[1], "kubevirt")); err != nil {
		fmt.Fprintln(os.Stderr, "kubevirt-crds:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, make := range crds {
		crd, err := make()
		if err != nil {
			return err
		}
		text, err := yaml.Marshal(crd)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, crd.Name+".yaml"), text, 0o644); err != nil {
			return err
		}
	}
	fmt.Println("kubevirt", len(crds))
	return nil
}
