package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// options are the command line.
type options struct {
	listen    string
	inventory string
	readyFile string
	home      string
	caFile    string
	tlsNames  []string
	notAfter  time.Time
}

// ready is what --ready-file holds.
type ready struct {
	URL              string `json:"url"`
	Host             string `json:"host"`
	Port             int    `json:"port"`
	CAFile           string `json:"ca_file"`
	ThumbprintSHA1   string `json:"thumbprint_sha1"`
	ThumbprintSHA256 string `json:"thumbprint_sha256"`
	ControlURL       string `json:"control_url"`
	PID              int    `json:"pid"`
}

// instance is a running simulator.
type instance struct {
	*estate
	ready   ready
	front   *http.Server
	control *http.Server
	stopped chan struct{}
	once    sync.Once
}

// start builds the estate, serves it and writes the ready file.
func start(opts options) (*instance, error) {
	inv, err := loadInventory(opts.inventory)
	if err != nil {
		return nil, err
	}
	id, err := newIdentity(opts.tlsNames, opts.notAfter)
	if err != nil {
		return nil, err
	}
	e, err := newEstate(inv, opts.home)
	if err != nil {
		return nil, err
	}
	s := &instance{estate: e, stopped: make(chan struct{})}
	if err := s.serve(opts, id); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *instance) serve(opts options, id *identity) error {
	if err := s.listen(opts.listen, id); err != nil {
		return err
	}
	if err := s.buildServices(s.inv); err != nil {
		return err
	}
	for _, r := range s.inv.Faults {
		if _, err := s.faults.add(r); err != nil {
			return fmt.Errorf("fault rule: %w", err)
		}
	}
	s.log.reset()
	s.tasks.clear()

	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.control = &http.Server{Handler: (&control{estate: s.estate, stop: s.stop}).handler()}
	go func() { _ = s.control.Serve(door) }()

	caFile := opts.caFile
	if caFile == "" {
		caFile = filepath.Join(s.home, "ca.pem")
		if opts.readyFile != "" {
			caFile = opts.readyFile + ".ca.pem"
		}
	}
	if caFile, err = filepath.Abs(caFile); err != nil {
		return err
	}
	if err := writeAtomic(caFile, id.caPEM); err != nil {
		return err
	}
	addr := s.server.Listener.Addr().(*net.TCPAddr)
	s.ready = ready{
		URL: s.server.URL.Scheme + "://" + s.server.URL.Host + "/sdk", Host: s.server.URL.Hostname(), Port: addr.Port,
		CAFile: caFile, ThumbprintSHA1: id.sha1(), ThumbprintSHA256: id.sha256(),
		ControlURL: "http://" + door.Addr().String(), PID: os.Getpid(),
	}
	if opts.readyFile == "" {
		return nil
	}
	data, err := json.MarshalIndent(s.ready, "", "  ")
	if err != nil {
		return err
	}
	return writeAtomic(opts.readyFile, append(data, '\n'))
}

// listen starts the simulator's server with the proxy in front.
func (s *instance) listen(address string, id *identity) (err error) {
	defer func() {
		if p := recover(); p != nil { // the library panics when it cannot listen
			err = fmt.Errorf("listen on %s: %v", address, p)
		}
	}()
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return err
	}
	s.svc.TLS = id.config
	s.svc.Listen = &url.URL{Host: address, User: url.UserPassword("vcsim-internal", hex.EncodeToString(secret))}
	s.svc.RegisterEndpoints = true
	s.server = s.svc.NewServer()
	// After NewServer: the SSO admin service installs a check of its own.
	s.reg.SessionManager().ValidLogin = func(req *types.Login) bool {
		_, fault := s.checkLogin(req.UserName, req.Password)
		return fault == nil
	}
	if s.vapi, err = newVapiHandler(s.svc.ServeMux); err != nil {
		return err
	}
	// The library's server has bound the address, and all URLs say so. It has
	// no place for a handler in front of it, so its listener is exchanged.
	bound := s.server.Listener.Addr().String()
	if err := s.server.Listener.Close(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", bound)
	if err != nil {
		return err
	}
	s.front = &http.Server{
		Handler:   &proxy{estate: s.estate, inner: s.svc.ServeMux},
		ErrorLog:  log.New(quiet{}, "", 0),
		ConnState: s.log.connState,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	config := id.config.Clone()
	config.NextProtos = []string{"http/1.1"}
	config.ClientAuth = tls.RequestClientCert // LoginExtensionByCertificate
	go func() { _ = s.front.Serve(tls.NewListener(listener, config)) }()
	return nil
}

// quiet drops the server's complaints about handshakes: tests provoke them.
type quiet struct{}

func (quiet) Write(p []byte) (int, error) { return len(p), nil }

// stop asks the program to end; close does it.
func (s *instance) stop() { s.once.Do(func() { close(s.stopped) }) }

func (s *instance) close() {
	s.stop()
	s.gate.thaw()
	if s.control != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.control.Shutdown(ctx)
	}
	if s.front != nil {
		_ = s.front.Close()
	}
	s.estate.close()
}

// writeAtomic never shows a reader half a file.
func writeAtomic(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".vcsim-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(data); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	if err := os.Chmod(tmp.Name(), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
