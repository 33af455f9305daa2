// Package main is the registry of the CNCF's distribution project, with images in memory and users in a file.
//
// The project's own command links the storage of three clouds; this one has what a test needs, and a second command
// that fills it:
//
//	registry serve config.yml
//	registry push ca.crt user password < references, each followed by the files of its layers
package main

import (
	"fmt"
	"os"

	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
)

func main() {
	if len(os.Args) == 5 && os.Args[1] == "push" {
		if err := push(os.Args[2], os.Args[3], os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if registry.RootCmd.Execute() != nil {
		os.Exit(1)
	}
}
