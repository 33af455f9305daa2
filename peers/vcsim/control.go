package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// control is the tests' side door: plain HTTP and JSON on loopback, never
// frozen, never logged. Every error is {"error": …} with status 400 or 404.
type control struct {
	*estate
	stop func()
}

type status struct {
	code int
	err  error
}

func (s status) Error() string { return s.err.Error() }

func missing(err error) error { return status{http.StatusNotFound, err} }

func (c *control) handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, f func(*http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			res, err := f(r)
			code := http.StatusOK
			if err != nil {
				code = http.StatusBadRequest
				var s status
				if errors.As(err, &s) {
					code = s.code
				}
				res = map[string]string{"error": err.Error()}
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(res)
		})
	}
	ok := map[string]bool{"ok": true}

	handle("GET /requests", func(r *http.Request) (any, error) {
		since := 0
		if s := r.URL.Query().Get("since"); s != "" {
			var err error
			if since, err = strconv.Atoi(s); err != nil {
				return nil, err
			}
		}
		return map[string]any{"requests": c.log.since(since)}, nil
	})
	handle("DELETE /requests", func(*http.Request) (any, error) {
		c.log.clear()
		c.tasks.clear()
		return ok, nil
	})
	handle("GET /stats", func(*http.Request) (any, error) {
		c.vapi.Lock()
		restSessions := len(c.vapi.sessions)
		c.vapi.Unlock()
		return struct {
			logStats
			taskStats
			SOAP   int  `json:"soap_sessions"`
			REST   int  `json:"rest_sessions"`
			Frozen bool `json:"frozen"`
		}{c.log.stats(), c.tasks.stats(), len(c.soapSessions()), restSessions, c.gate.frozen()}, nil
	})
	handle("GET /faults", func(*http.Request) (any, error) {
		return map[string]any{"faults": c.faults.list()}, nil
	})
	handle("POST /faults", func(r *http.Request) (any, error) {
		var rule Rule
		if err := body(r, &rule); err != nil {
			return nil, err
		}
		id, err := c.faults.add(rule)
		return map[string]int{"id": id}, err
	})
	handle("DELETE /faults", func(*http.Request) (any, error) {
		c.faults.remove(0)
		return ok, nil
	})
	handle("DELETE /faults/{id}", func(r *http.Request) (any, error) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil || id == 0 || !c.faults.remove(id) {
			return nil, missing(fmt.Errorf("no rule %s", r.PathValue("id")))
		}
		return ok, nil
	})
	handle("POST /sessions/expire", func(r *http.Request) (any, error) {
		var req struct {
			User string `json:"user"`
			Kind string `json:"kind"`
		}
		if err := body(r, &req); err != nil {
			return nil, err
		}
		if req.Kind != "" && req.Kind != "soap" && req.Kind != "rest" {
			return nil, fmt.Errorf("unknown kind %q", req.Kind)
		}
		return map[string]int{"expired": c.expire(req.User, req.Kind)}, nil
	})
	handle("POST /freeze", func(r *http.Request) (any, error) {
		var req struct {
			Kind   string `json:"kind"`
			Method string `json:"method"`
		}
		if err := body(r, &req); err != nil {
			return nil, err
		}
		c.gate.freeze(req.Kind, req.Method)
		return ok, nil
	})
	handle("POST /thaw", func(*http.Request) (any, error) {
		c.gate.thaw()
		return ok, nil
	})
	handle("GET /inventory", func(*http.Request) (any, error) { return c.dump(), nil })
	handle("POST /inventory/apply", func(r *http.Request) (any, error) {
		inv := new(Inventory)
		if err := body(r, inv); err != nil {
			return nil, err
		}
		return ok, c.apply(inv)
	})
	handle("GET /machines/events", func(r *http.Request) (any, error) {
		numbers := map[string]int{"since": 0, "wait_ms": 0}
		for name := range numbers {
			if text := r.URL.Query().Get(name); text != "" {
				n, err := strconv.Atoi(text)
				if err != nil {
					return nil, err
				}
				numbers[name] = n
			}
		}
		wait := time.Duration(numbers["wait_ms"]) * time.Millisecond
		return map[string]any{"events": c.machines.since(r.Context(), numbers["since"], wait)}, nil
	})
	handle("POST /shutdown", func(*http.Request) (any, error) {
		c.stop()
		return ok, nil
	})
	handle("POST /vms/", func(r *http.Request) (any, error) {
		at, verb, err := c.target(r, "/vms/")
		if err != nil {
			return nil, err
		}
		switch verb {
		case "guest":
			var s guestState
			if err := body(r, &s); err != nil {
				return nil, err
			}
			return ok, c.setGuest(at, s)
		case "power":
			var s struct {
				State string `json:"state"`
			}
			if err := body(r, &s); err != nil {
				return nil, err
			}
			return ok, c.power(at, s.State)
		case "destroy":
			return ok, c.destroy(at)
		}
		return nil, missing(fmt.Errorf("want /vms/…/guest, /vms/…/power or /vms/…/destroy"))
	})
	handle("POST /datastores/", func(r *http.Request) (any, error) {
		at, verb, err := c.target(r, "/datastores/")
		if err != nil || verb != "state" {
			return nil, missing(fmt.Errorf("want /datastores/…/state (%v)", err))
		}
		var s datastoreState
		if err := body(r, &s); err != nil {
			return nil, err
		}
		return ok, c.setDatastore(at, s)
	})
	handle("POST /hosts/", func(r *http.Request) (any, error) {
		at, verb, err := c.target(r, "/hosts/")
		if err != nil || verb != "state" {
			return nil, missing(fmt.Errorf("want /hosts/…/state (%v)", err))
		}
		var s hostState
		if err := body(r, &s); err != nil {
			return nil, err
		}
		return ok, c.setHost(at, s)
	})
	return mux
}

// body reads a JSON object; no body at all is an empty one.
func body(r *http.Request, into any) error {
	err := decodeStrict(r.Body, into)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// target splits /vms/{path or moref}/{verb}. Each segment of an inventory path
// may be percent-encoded once for the URL; %2f in a name is then %252f.
func (c *control) target(r *http.Request, prefix string) (ref, string, error) {
	rest := strings.TrimPrefix(r.URL.EscapedPath(), prefix)
	i := strings.LastIndex(rest, "/")
	if i < 0 {
		return ref{}, "", missing(fmt.Errorf("no object in %s", r.URL.Path))
	}
	name, err := url.PathUnescape(rest[:i])
	if err != nil {
		return ref{}, "", err
	}
	at, err := c.resolve(name)
	if err != nil && !strings.HasPrefix(name, "/") {
		at, err = c.resolve("/" + name)
	}
	if err != nil {
		return ref{}, "", missing(err)
	}
	return at, rest[i+1:], nil
}
