package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

type connKey struct{}

// proxy stands between the network and the simulator.
type proxy struct {
	*estate
	inner http.Handler
}

// streamed paths carry disk images: they are neither buffered nor rewritten.
func streamed(path string) bool {
	for _, p := range []string{"/nfc/", "/folder/", "/guestFile"} {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{kind: "http", path: r.URL.Path, query: r.URL.RawQuery, method: r.Method}
	if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		c.conn = p.log.connID(conn)
	}
	var body []byte
	size := int(max(r.ContentLength, 0))
	if !streamed(r.URL.Path) {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return // the client left
		}
		size = len(body)
		body = p.identify(c, r, body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.ContentLength = int64(len(body))
	}
	p.log.begin(c, size)
	defer p.log.end(c)

	if !p.gate.wait(r, c) {
		panic(http.ErrAbortHandler)
	}
	act := p.faults.act(c, p.auth.sameLogin)
	if act != nil {
		p.log.update(c, func(e *logEntry) { e.Injected = true })
		if !sleep(r, act.delay()) || act.Drop == "before" {
			panic(http.ErrAbortHandler)
		}
	}
	if streamed(r.URL.Path) && (act == nil || act.HTTPStatus == 0 && act.Drop == "") {
		count := &counter{ResponseWriter: w, status: http.StatusOK}
		p.inner.ServeHTTP(count, r)
		p.log.update(c, func(e *logEntry) { e.Status, e.BytesOut = count.status, count.n })
		return
	}
	rec := p.answer(c, r, body, act)
	if c.kind == "soap" && c.method == "Login" {
		p.noteLogin(c, body, rec)
	}
	if rec == nil || (act != nil && act.Drop == "after") {
		panic(http.ErrAbortHandler) // net/http closes the connection, silently
	}
	out := p.outgoing(c, rec)
	if act != nil && act.Hide != "" {
		out = hide(out, act.Hide)
	}
	for k, v := range rec.header {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(out)))
	p.log.update(c, func(e *logEntry) { e.Status, e.BytesOut = rec.status, len(out) })
	w.WriteHeader(rec.status)
	_, _ = w.Write(out)
}

func sleep(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	select {
	case <-time.After(d):
		return true
	case <-r.Context().Done():
		return false
	}
}

// identify fills in who asks for what, and returns the body with datastore
// URLs turned into the folders behind them.
func (p *proxy) identify(c *call, r *http.Request, body []byte) []byte {
	if strings.HasPrefix(r.URL.Path, "/rest") || strings.HasPrefix(r.URL.Path, "/api") {
		c.kind = "rest"
		c.session = r.Header.Get(restSessionID)
		if c.session == "" {
			if cookie, err := r.Cookie(restSessionID); err == nil {
				c.session = cookie.Value
			}
		}
		if user, ok := p.vapi.user(c.session); ok {
			c.user = user
		} else if name, _, ok := r.BasicAuth(); ok {
			c.user = name
		}
		if t := parseTagCall(c, r, body); t != nil && len(t.objects) > 0 {
			c.this = t.objects[0]
		}
		return body
	}
	if r.Method != http.MethodPost {
		return body
	}
	c.kind = "soap"
	head := scanSOAP(body)
	c.method, c.this, c.session = head.method, head.this, head.session
	if c.session == "" {
		if cookie, err := r.Cookie(soap.SessionCookieName); err == nil {
			c.session = strings.Trim(cookie.Value, `"`)
		}
	}
	if user, ok := p.soapSession(c.session); ok {
		c.user = user
	}
	if bytes.Contains(body, []byte("ds:///")) {
		p.urlMu.RLock()
		defer p.urlMu.RUnlock()
		if p.toLocal != nil {
			body = []byte(p.toLocal.Replace(string(body)))
		}
	}
	return body
}

// outgoing shows datastore URLs, gives faults a message and completes the log.
func (p *proxy) outgoing(c *call, rec *recorder) []byte {
	out := rec.body.Bytes()
	if c.kind != "soap" {
		return out
	}
	if bytes.Contains(out, []byte(p.home)) {
		p.urlMu.RLock()
		if p.toWire != nil {
			out = []byte(p.toWire.Replace(string(out)))
		}
		p.urlMu.RUnlock()
	}
	if c.method == "Fetch" && bytes.Contains(out, []byte("<RetrievePropertiesExResponse")) {
		out = emptyResponse("Fetch") // how the simulator says "unset" breaks pyvmomi
	}
	if rec.status == http.StatusInternalServerError {
		fault := faultOf(out)
		out = bytes.Replace(out, emptyMessage, []byte("<faultstring>"+faultMessage(fault)+"</faultstring>"), 1)
		p.log.update(c, func(e *logEntry) { e.Fault = fault })
	} else if m := taskReturn.FindSubmatch(out); m != nil {
		p.log.update(c, func(e *logEntry) { e.Task = string(m[1]) })
	}
	return out
}

// answer produces the response; nil means the client is gone.
func (p *proxy) answer(c *call, r *http.Request, body []byte, act *Action) *recorder {
	if act != nil {
		if rec := p.injected(c, act); rec != nil {
			return rec
		}
	}
	switch c.kind {
	case "rest":
		return p.rest(c, r, body)
	case "soap":
		if strings.HasPrefix(c.path, "/sts/") {
			return p.sts(c, r, body)
		}
		if strings.HasPrefix(c.path, "/sdk") {
			if rec := p.sdk(c, body, act); rec != nil {
				return rec
			}
		}
	}
	rec := p.forward(c, r)
	switch {
	case c.kind != "soap" || rec == nil || rec.status != http.StatusOK:
	case c.method == "MarkAsTemplate" || c.method == "MarkAsVirtualMachine":
		p.announceTemplate(c.this)
	case c.method == "Logout":
		dropFeeds(p.reg, c.session)
	}
	return rec
}

// injected is the answer a rule dictates, or nil to go on.
func (p *proxy) injected(c *call, act *Action) *recorder {
	rec := newRecorder()
	if act.RetryAfter > 0 {
		rec.header.Set("Retry-After", strconv.Itoa(act.RetryAfter))
	}
	switch {
	case act.FaultType != "" && c.kind == "rest":
		status := act.HTTPStatus
		if status == 0 {
			status = http.StatusBadRequest
		}
		return restError(status, act.FaultType, act.Message)
	case act.FaultType != "":
		fault, err := act.vimFault()
		if err != nil {
			fault = &types.SystemError{Reason: err.Error()}
		}
		return rec.soap(http.StatusInternalServerError, faultEnvelope(fault, act.Message))
	case act.HTTPStatus != 0:
		rec.status = act.HTTPStatus
		rec.body.WriteString(act.Body)
		return rec
	}
	return nil
}

// forward lets the simulator answer. Long polls end when the client leaves or
// its session is ended by the test.
func (p *proxy) forward(c *call, r *http.Request) *recorder {
	rec := newRecorder()
	finished := make(chan any, 1)
	task := strings.HasSuffix(c.method, "_Task")
	if task {
		p.tasks.begin()
	}
	go func() {
		defer func() {
			panicked := recover()
			if task {
				// Here, so that it counts down even when nobody waits any more.
				p.tasks.settle(rec)
			}
			finished <- panicked
		}()
		p.inner.ServeHTTP(rec, r)
	}()
	ended := p.live.add(c.session)
	defer p.live.remove(c.session, ended)
	select {
	case panicked := <-finished:
		if panicked != nil {
			return newRecorder().soap(http.StatusInternalServerError, faultEnvelope(
				&types.SystemError{Reason: fmt.Sprint(panicked)}, "A general system error occurred: "+fmt.Sprint(panicked)))
		}
		return rec
	case <-ended:
		if c.kind == "rest" {
			return restError(http.StatusUnauthorized, "unauthenticated", "The session has ended.")
		}
		return newRecorder().soap(http.StatusInternalServerError, faultEnvelope(notAuthenticated(c.this), ""))
	case <-r.Context().Done():
		return nil
	}
}

// settle ends the count that begin started, or hands it to the task.
func (d *taskDesk) settle(rec *recorder) {
	if m := taskReturn.FindSubmatch(rec.body.Bytes()); m != nil {
		d.follow(ref{Type: "Task", Value: string(m[1])})
		return
	}
	d.finish()
}

func notAuthenticated(at ref) *types.NotAuthenticated {
	return &types.NotAuthenticated{NoPermission: types.NoPermission{Object: &at, PrivilegeId: "System.View"}}
}

// sdk treats vim25 methods that are not the simulator's to answer.
func (p *proxy) sdk(c *call, body []byte, act *Action) *recorder {
	if c.user == "" {
		if c.method == "Fetch" && c.this.Type != "ServiceInstance" && c.this.Type != "SessionManager" {
			// pyvmomi's way to read one property; see hook for the others.
			return newRecorder().soap(http.StatusInternalServerError, faultEnvelope(notAuthenticated(c.this), ""))
		}
		return nil // the simulator refuses, or lets the client log in
	}
	plan, err := p.tasks.planFor(c.method, act)
	if err != nil {
		return newRecorder().soap(http.StatusInternalServerError, faultEnvelope(&types.SystemError{Reason: err.Error()}, ""))
	}
	if c.method == "RefreshDatastore" {
		// The simulator would reset capacity and free space.
		return newRecorder().soap(http.StatusOK, emptyResponse(c.method))
	}
	if plan == nil && !(p.inv.Enforce && enforced(c.method)) {
		return nil
	}
	m, err := simulator.UnmarshalBody(vimType, body)
	if err != nil {
		return nil // the simulator reports it
	}
	refuse := func(f types.BaseMethodFault) *recorder {
		return newRecorder().soap(http.StatusInternalServerError, faultEnvelope(f, ""))
	}
	if p.inv.Enforce {
		if fault := p.lacking(c.user, m.Body); fault != nil {
			return refuse(fault)
		}
	}
	if plan == nil {
		return nil
	}
	ctx := p.newContext()
	ctx.Session.UserSession.UserName = c.user
	if _, fault := p.hook(ctx, m); fault != nil {
		return refuse(fault)
	}
	task, fault := p.tasks.shadow(m, c, plan)
	if fault != nil {
		return refuse(fault)
	}
	return newRecorder().soap(http.StatusOK, taskResponse(c.method, task))
}
