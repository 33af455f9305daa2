// The recorder is a server that answers like a vCenter that has next to
// nothing, and writes down what it is asked. On request, govmomi asks it too:
// what the two clients send can then be compared, element by element.
//
//	POST /recorder/govmomi   lets govmomi make its calls
//	GET  /recorder/requests  what was asked so far: [{agent, path, action, method, body}]
//	POST /recorder/host      the body is the fingerprint that leases give for the host's certificate
//
// The port is printed when it serves; it ends when its input does.
package main

import (
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
)

type request struct {
	Agent  string `json:"agent"`
	Path   string `json:"path"`
	Action string `json:"action"`
	Method string `json:"method"`
	Body   string `json:"body"`
}

type recorder struct {
	mu       sync.Mutex
	requests []request
	address  string
	host     string // the fingerprint of the host's certificate, as leases have it
}

var methodOf = regexp.MustCompile(`(?s)<(?:\w+:)?Body[^>]*>\s*<(?:\w+:)?(\w+)`)

func (rec *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch r.URL.Path {
	case "/recorder/govmomi":
		if err := call(r.Context(), rec.address); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
		return
	case "/recorder/requests":
		rec.mu.Lock()
		defer rec.mu.Unlock()
		_ = json.NewEncoder(w).Encode(rec.requests)
		return
	case "/recorder/host":
		rec.mu.Lock()
		defer rec.mu.Unlock()
		rec.host = string(body)
		return
	case "/nfc/disk.vmdk":
		rec.mu.Lock()
		defer rec.mu.Unlock()
		rec.requests = append(rec.requests, request{
			r.UserAgent(), r.URL.Path, fmt.Sprint(r.Header.Get("Content-Type"), " ", r.ContentLength), "upload", string(body),
		})
		return
	case "/sdk/vsanServiceVersions.xml":
		fmt.Fprint(w, `<namespaces version="1.0"><namespace><name>urn:vsan</name><version>8.0.3</version></namespace></namespaces>`)
		return
	}
	found := methodOf.FindSubmatch(body)
	space, known := spaces[strings.Split(r.URL.Path, "/")[1]]
	if found == nil || !known {
		http.NotFound(w, r)
		return
	}
	method := string(found[1])
	rec.mu.Lock()
	rec.requests = append(rec.requests, request{
		r.UserAgent(), r.URL.Path, r.Header.Get("SOAPAction"), method, string(body),
	})
	lease := fmt.Sprintf(lease, rec.address[strings.LastIndex(rec.address, ":")+1:], rec.host)
	rec.mu.Unlock()
	if strings.HasPrefix(method, "Login") {
		w.Header().Set("Set-Cookie", `vmware_soap_session="0123"; Path=/; HttpOnly; Secure`)
	}
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	fmt.Fprintf(w, envelope, answer(method, space, string(body), lease))
}

func main() {
	rec := new(recorder)
	server := httptest.NewTLSServer(rec)
	rec.address = server.Listener.Addr().String()
	for _, b := range sha1.Sum(server.Certificate().Raw) {
		rec.host += fmt.Sprintf(":%02X", b)
	}
	rec.host = rec.host[1:]
	fmt.Println(rec.address[strings.LastIndex(rec.address, ":")+1:])
	_, _ = io.Copy(io.Discard, os.Stdin)
	server.CloseClientConnections()
}
