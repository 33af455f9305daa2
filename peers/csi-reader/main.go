// Command csi-reader answers how the real vSphere CSI driver reads a configuration text, so that
// our own readers and writers can be compared with it.
//
// It reads one JSON object per line and writes one JSON object per line, in the same order:
//
//	{"id":1,"reader":"csi","text":"..."}
//	{"id":1,"ok":true,"value":{...}}
//	{"id":2,"ok":false,"error":"..."}
//
// "id" is echoed as it came, whatever JSON it is; a line that is no request is answered with
// "id":null. A panic inside a reader is answered as an error that starts with "panic: ". The
// program ends at the end of its input. Logs go to standard error only.
//
// Readers ("value" has the names and the order of the Go struct, secrets included):
//
//	csi        pkg/common/config ReadConfig: gcfg, then defaults and validation.
//	csi-gc     pkg/common/config ReadGCConfig: the same for the [GC] file of a guest cluster.
//	gcfg-csi   gcfg alone, into the structure of the driver, before defaults and validation. Its
//	           errors carry "fatal"; when that is false there were only warnings (data that has no
//	           place in the structure, which the driver ignores), "value" is there all the same,
//	           and "warnings" lists them.
//
// The environment is cleared before the first request, because the readers let VSPHERE_*,
// GLOBAL_MAX_SNAPSHOTS_*, GRANULAR_MAX_SNAPSHOTS_*, CLUSTER_FLAVOR and others override the text.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"gopkg.in/gcfg.v1"
	"gopkg.in/warnings.v0"
	csi "sigs.k8s.io/vsphere-csi-driver/v3/pkg/common/config"
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

func read(a *answer, reader string, text []byte) {
	var value *csi.Config
	var err error
	switch reader {
	case "csi":
		value, err = csi.ReadConfig(context.Background(), bytes.NewReader(text))
	case "csi-gc":
		value, err = csi.ReadGCConfig(context.Background(), bytes.NewReader(text))
	case "gcfg-csi":
		value = &csi.Config{}
		if err = gcfg.ReadInto(value, bytes.NewReader(text)); err != nil {
			fatal := gcfg.FatalOnly(err) != nil
			a.Fatal = &fatal
			var list warnings.List
			if errors.As(err, &list) {
				for _, w := range list.Warnings {
					a.Warnings = append(a.Warnings, w.Error())
				}
				if list.Fatal != nil {
					err = list.Fatal
				}
			}
		}
	default:
		err = fmt.Errorf("request: no reader named %q", reader)
	}
	a.OK = err == nil
	if err != nil {
		a.Error = err.Error()
	}
	if a.OK || (a.Fatal != nil && !*a.Fatal) {
		a.Value = value
	}
}

func handle(line []byte) (a answer) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return answer{Error: "request: " + err.Error()}
	}
	if r.Text == nil {
		return answer{ID: r.ID, Error: "request: no text"}
	}
	defer func() {
		if p := recover(); p != nil {
			a = answer{ID: r.ID, Error: fmt.Sprintf("panic: %v", p)}
		}
	}()
	a.ID = r.ID
	read(&a, r.Reader, []byte(*r.Text))
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
	fmt.Fprintln(os.Stderr, "csi-reader:", err)
	os.Exit(1)
}
