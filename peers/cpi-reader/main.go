// Command cpi-reader answers how the real vSphere cloud provider and the real gcfg library read a
// configuration text, so that our own readers and writers can be compared with them.
//
// It reads one JSON object per line and writes one JSON object per line, in the same order:
//
//	{"id":1,"reader":"cpi","text":"..."}
//	{"id":1,"ok":true,"value":{...}}
//	{"id":2,"ok":false,"error":"..."}
//
// "id" is echoed as it came, whatever JSON it is; a line that is no request is answered with
// "id":null. A panic inside a reader is answered as an error that starts with "panic: ". The
// program ends at the end of its input. Logs go to standard error only.
//
// Readers ("value" has the names and the order of the Go struct, secrets included):
//
//	cpi, cpi-yaml, cpi-ini   pkg/common/config ReadConfig, ReadConfigYAML, ReadConfigINI: what
//	                         other components use; without the node section. cpi takes everything
//	                         that decodes as YAML for YAML and does not fall back after that.
//	ccm, ccm-yaml, ccm-ini   pkg/cloudprovider/vsphere/config ReadCPIConfig, ...YAML, ...INI: what
//	                         the cloud controller manager itself uses; with the node section. ccm
//	                         tries INI after any YAML error.
//	nsxt, lb, route          the readers of the NSX-T sections, as the manager calls them.
//	gcfg                     gcfg alone, without any structure; see readGcfg.
//	gcfg-ccm                 gcfg into the structure of ccm-ini, before validation; see readGcfgInto.
//
// The answers of the gcfg readers carry "fatal" as well.
//
// The environment is cleared before the first request, because ReadConfig and ReadCPIConfig let
// VSPHERE_* and others override the text. One influence from outside remains in them: they
// empty secretsDirectory when that directory does not exist here, and default it to
// /etc/cloud/secrets when that one does.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"gopkg.in/gcfg.v1"
	"gopkg.in/gcfg.v1/scanner"
	"gopkg.in/gcfg.v1/token"
	"gopkg.in/warnings.v0"
	ccm "k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere/config"
	lb "k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere/loadbalancer/config"
	route "k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere/route/config"
	cpi "k8s.io/cloud-provider-vsphere/pkg/common/config"
	nsxt "k8s.io/cloud-provider-vsphere/pkg/nsxt/config"
)

type request struct {
	ID     json.RawMessage `json:"id"`
	Reader string          `json:"reader"`
	Text   *string         `json:"text"`
}

type answer struct {
	ID       json.RawMessage `json:"id"`
	OK       bool            `json:"ok"`
	Value    any             `json:"value,omitempty"`
	Error    string          `json:"error,omitempty"`
	Fatal    *bool           `json:"fatal,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
}

var readers = map[string]func([]byte) (any, error){
	"cpi":      reader(cpi.ReadConfig),
	"cpi-yaml": reader(cpi.ReadConfigYAML),
	"cpi-ini":  reader(cpi.ReadConfigINI),
	"ccm":      reader(ccm.ReadCPIConfig),
	"ccm-yaml": reader(ccm.ReadCPIConfigYAML),
	"ccm-ini":  reader(ccm.ReadCPIConfigINI),
	"nsxt":     reader(nsxt.ReadNsxtConfig),
	"lb":       reader(lb.ReadLBConfig),
	"route":    reader(route.ReadRouteConfig),
	"gcfg":     readGcfg,
	"gcfg-ccm": func(text []byte) (any, error) { return readGcfgInto(&ccm.CPIConfigINI{}, text) },
}

func reader[T any](read func([]byte) (*T, error)) func([]byte) (any, error) {
	return func(text []byte) (any, error) { return read(text) }
}

// gcfgError is what gcfg said: either one fatal error, or only warnings (data that has no place in
// the structure), which the drivers ignore through gcfg.FatalOnly.
type gcfgError struct {
	error
	fatal    bool
	warnings []string
}

func gcfgErr(err error) error {
	if err == nil {
		return nil
	}
	e := gcfgError{error: err, fatal: gcfg.FatalOnly(err) != nil}
	var list warnings.List
	if errors.As(err, &list) {
		for _, w := range list.Warnings {
			e.warnings = append(e.warnings, w.Error())
		}
		if list.Fatal != nil {
			e.error = list.Fatal
		}
	}
	return e
}

// readGcfgInto reads text into a structure as gcfg does it. The verdict includes what the types of
// the structure demand: a variable without "=" is true for a bool and an error for a string, for
// example. With warnings only, "ok" is false, "fatal" is false, and "value" is there.
func readGcfgInto(structure any, text []byte) (any, error) {
	return structure, gcfgErr(gcfg.ReadStringInto(structure, string(text)))
}

type section struct {
	Section    string     `json:"section"`
	Subsection string     `json:"subsection"` // empty: none (gcfg does not allow an empty one)
	Variables  []variable `json:"variables"`
}

type variable struct {
	Name  string  `json:"name"`
	Value *string `json:"value"` // null: a name without "="
}

// readGcfg reads text without a structure. gcfg v1 can only decode into Go structs, so this takes
// three steps, all made of gcfg itself:
//
//   - The verdict is gcfg's on an empty struct: all data is then "extra", which is only a warning,
//     and what is left are the errors of syntax. Errors that come from the type of a variable are
//     not seen here (gcfg-ccm sees them), so an error is always fatal.
//   - The order of headers and variables comes from gcfg's scanner. The text is valid by then, so
//     the tokens need no checks.
//   - Every quoted text is handed to gcfg once more, alone, to have it unquoted.
//
// Each header makes a new entry, also when it repeats an earlier one; names keep their spelling,
// although gcfg compares sections and variables (not subsections) without regard to case.
func readGcfg(text []byte) (any, error) {
	if err := gcfg.FatalOnly(gcfg.ReadStringInto(&struct{}{}, string(text))); err != nil {
		return nil, gcfgErr(err)
	}
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile("", files.Base(), len(text)), text, nil, 0)
	sections := []section{}
	var inHeader, wantValue bool
	for {
		_, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return map[string]any{"sections": sections}, nil
		case token.LBRACK:
			inHeader = true
			sections = append(sections, section{Variables: []variable{}})
		case token.RBRACK:
			inHeader = false
		case token.ASSIGN:
			wantValue = true
		case token.IDENT:
			current := &sections[len(sections)-1]
			if inHeader {
				current.Section = lit
			} else {
				current.Variables = append(current.Variables, variable{Name: lit})
			}
		case token.STRING:
			current := &sections[len(sections)-1]
			var one struct {
				Value struct{ V string }
				Name  map[string]*struct{}
			}
			var err error
			if wantValue {
				wantValue = false
				err = gcfg.ReadStringInto(&one, "[value]\nv="+lit)
				current.Variables[len(current.Variables)-1].Value = &one.Value.V
			} else {
				err = gcfg.ReadStringInto(&one, "[name "+lit+"]")
				for name := range one.Name {
					current.Subsection = name
				}
			}
			if err != nil {
				return nil, fmt.Errorf("unquoting %q alone: %w", lit, err)
			}
		}
	}
}

func handle(line []byte) (a answer) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return answer{Error: "request: " + err.Error()}
	}
	a.ID = r.ID
	defer func() {
		if p := recover(); p != nil {
			a = answer{ID: r.ID, Error: fmt.Sprintf("panic: %v", p)}
		}
	}()
	read := readers[r.Reader]
	if read == nil || r.Text == nil {
		a.Error = fmt.Sprintf("request: no text, or no reader named %q", r.Reader)
		return a
	}
	value, err := read([]byte(*r.Text))
	if e, ok := errors.AsType[gcfgError](err); ok {
		a.Fatal, a.Warnings = &e.fatal, e.warnings
	}
	if err == nil || (a.Fatal != nil && !*a.Fatal) {
		a.Value = value
	}
	if err != nil {
		a.Error = err.Error()
		return a
	}
	a.OK = true
	return a
}

func main() {
	os.Clearenv()
	// Whatever a library prints, the protocol stays clean.
	out := bufio.NewWriter(os.Stdout)
	os.Stdout = os.Stderr
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			if e := encoder.Encode(handle(line)); e != nil {
				fatal(e)
			}
			if e := out.Flush(); e != nil {
				fatal(e)
			}
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			fatal(err)
		}
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "cpi-reader:", err)
	os.Exit(1)
}
