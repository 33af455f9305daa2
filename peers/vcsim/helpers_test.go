package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const adminUser, adminPassword = "administrator@vsphere.local", "VMware1!"

// TestMain lets the test binary be the program itself, for the tests of the
// command line.
func TestMain(m *testing.M) {
	if os.Getenv("VCSIM_TEST_MAIN") != "" {
		if err := run(os.Args[1:]); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}

type sim struct {
	*instance
	t   *testing.T
	ctx context.Context
}

func startSim(t *testing.T, inventory string) *sim {
	t.Helper()
	opts := options{listen: "127.0.0.1:0", readyFile: filepath.Join(t.TempDir(), "ready.json")}
	switch {
	case strings.HasPrefix(inventory, "{"):
		opts.inventory = writeTemp(t, inventory)
	case inventory != "":
		opts.inventory = inventory
	}
	return startOpts(t, opts)
}

func writeTemp(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "inventory.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func startOpts(t *testing.T, opts options) *sim {
	t.Helper()
	s, err := start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	// No test may wait for ever for an update that does not come.
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return &sim{instance: s, t: t, ctx: ctx}
}

// connect trusts the CA file only: a wrong certificate fails every test.
func (s *sim) connect(user, password string) (*govmomi.Client, error) {
	u, err := soap.ParseURL(s.ready.URL)
	if err != nil {
		return nil, err
	}
	sc := soap.NewClient(u, false)
	if err := sc.SetRootCAs(s.ready.CAFile); err != nil {
		return nil, err
	}
	vc, err := vim25.NewClient(s.ctx, sc)
	if err != nil {
		return nil, err
	}
	c := &govmomi.Client{Client: vc, SessionManager: session.NewManager(vc)}
	return c, c.Login(s.ctx, url.UserPassword(user, password))
}

func (s *sim) login(user, password string) *govmomi.Client {
	s.t.Helper()
	c, err := s.connect(user, password)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *sim) admin() *govmomi.Client {
	s.t.Helper()
	return s.login(adminUser, adminPassword)
}

func (s *sim) rest(c *govmomi.Client, user, password string) *rest.Client {
	s.t.Helper()
	rc := rest.NewClient(c.Client)
	if err := rc.Login(s.ctx, url.UserPassword(user, password)); err != nil {
		s.t.Fatal(err)
	}
	return rc
}

// control calls the control endpoint and expects a status.
func (s *sim) control(method, path string, in, out any, want int) {
	s.t.Helper()
	var body io.Reader
	switch x := in.(type) {
	case nil:
	case string:
		body = strings.NewReader(x)
	default:
		data, err := json.Marshal(x)
		if err != nil {
			s.t.Fatal(err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequest(method, s.ready.ControlURL+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body)
	if res.StatusCode != want {
		s.t.Fatalf("%s %s: status %d, want %d: %s", method, path, res.StatusCode, want, data)
	}
	if out != nil {
		if err := json.Unmarshal(data, out); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, data)
		}
	}
}

func (s *sim) fault(rule string) int {
	s.t.Helper()
	var res struct{ ID int }
	s.control("POST", "/faults", rule, &res, 200)
	return res.ID
}

func (s *sim) requests() []logEntry {
	s.t.Helper()
	var res struct{ Requests []logEntry }
	s.control("GET", "/requests", nil, &res, 200)
	return res.Requests
}

func (s *sim) count(method string) int {
	n := 0
	for _, r := range s.requests() {
		if r.Method == method {
			n++
		}
	}
	return n
}

func (s *sim) at(path string) types.ManagedObjectReference {
	s.t.Helper()
	r, err := s.resolve(path)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *sim) vmAt(c *govmomi.Client, path string) (vm *object.VirtualMachine, props mo.VirtualMachine) {
	s.t.Helper()
	vm, err := find.NewFinder(c.Client).VirtualMachine(s.ctx, path)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := vm.Properties(s.ctx, vm.Reference(), nil, &props); err != nil {
		s.t.Fatal(err)
	}
	return vm, props
}

// faultName is the vSphere fault of an error, of a call or of a task.
func faultName(err error) string {
	if err == nil {
		return ""
	}
	name := func(f any) string {
		s := strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", f), "*"), "types.")
		return s
	}
	if soap.IsSoapFault(err) {
		return name(soap.ToSoapFault(err).VimFault())
	}
	if soap.IsVimFault(err) {
		return name(soap.ToVimFault(err))
	}
	var withFault interface{ Fault() types.BaseMethodFault }
	if errors.As(err, &withFault) {
		return name(withFault.Fault())
	}
	return "error: " + err.Error()
}
