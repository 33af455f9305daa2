package main

import (
	"crypto/tls"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCertificates(t *testing.T) {
	s := startOpts(t, options{listen: "127.0.0.1:0", tlsNames: []string{"vc.example.com"}})
	conn, err := tls.Dial("tcp", s.server.URL.Host, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	leaf := conn.ConnectionState().PeerCertificates[0]
	conn.Close()
	if !slices.Contains(leaf.DNSNames, "vc.example.com") || leaf.VerifyHostname("::1") != nil || leaf.VerifyHostname("localhost") != nil {
		t.Errorf("names: %v %v", leaf.DNSNames, leaf.IPAddresses)
	}
	s.admin()

	old := startOpts(t, options{listen: "127.0.0.1:0", notAfter: time.Now().Add(-time.Hour)})
	if _, err := old.connect(adminUser, adminPassword); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an expired certificate: %v", err)
	}
	if l, err := net.Listen("tcp", "[::1]:0"); err == nil {
		l.Close()
		six := startOpts(t, options{listen: "[::1]:0"})
		six.admin()
		if six.ready.Host != "::1" || !strings.HasPrefix(six.ready.URL, "https://[::1]:") {
			t.Errorf("ready: %+v", six.ready)
		}
	}
	if _, err := start(options{listen: s.server.URL.Host}); err == nil {
		t.Error("two servers on one port")
	}
}

// TestProgram runs the program as a test of another language would.
func TestProgram(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready.json")
	run := func(args ...string) (*exec.Cmd, func()) {
		_ = os.Remove(ready)
		cmd := exec.Command(os.Args[0], append([]string{"--ready-file", ready}, args...)...)
		cmd.Env = append(os.Environ(), "VCSIM_TEST_MAIN=1")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for i := 0; ; i++ {
			if _, err := os.Stat(ready); err == nil {
				break
			}
			if i > 5000 {
				_ = cmd.Process.Kill()
				t.Fatal("no ready file")
			}
			time.Sleep(10 * time.Millisecond)
		}
		return cmd, func() { in.Close() }
	}
	ends := func(cmd *exec.Cmd) {
		t.Helper()
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			_ = cmd.Process.Kill()
			t.Error("it does not end")
		}
	}
	cmd, closeIn := run("--exit-with-parent")
	closeIn()
	ends(cmd)
	cmd, _ = run()
	_ = cmd.Process.Signal(os.Interrupt)
	ends(cmd)
}
