package main

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// soapSessions lists the simulator's sessions, which only a session's view of
// the session manager shows.
func (e *estate) soapSessions() []types.UserSession {
	view := &simulator.Session{Registry: simulator.NewRegistry(), Map: e.reg}
	sm, ok := view.Get(*e.client.ServiceContent.SessionManager).(*simulator.SessionManager)
	if !ok {
		return nil
	}
	return sm.SessionList
}

func (e *estate) soapSession(key string) (string, bool) {
	if key == "" {
		return "", false
	}
	for _, s := range e.soapSessions() {
		if s.Key == key {
			return s.UserName, true
		}
	}
	return "", false
}

// expire ends sessions of a user, or of everybody, of one kind or both, and
// answers requests that are under way in them.
func (e *estate) expire(user, kind string) int {
	wanted := func(name string) bool { return user == "" || e.auth.sameLogin(name, user) }
	var keys []string
	if kind != "rest" {
		ctx := e.newContext()
		ctx.Session.UserSession.Key = "vcsim-control"
		for _, s := range e.soapSessions() {
			if wanted(s.UserName) {
				e.reg.SessionManager().TerminateSession(ctx, &types.TerminateSession{SessionId: []string{s.Key}})
				keys = append(keys, s.Key)
			}
		}
	}
	if kind != "soap" {
		keys = append(keys, e.vapi.expire(wanted)...)
	}
	for _, k := range keys {
		dropFeeds(e.reg, k)
		e.live.end(k)
	}
	return len(keys)
}

// noteLogin puts into the log who tried to log in, and the session it gave.
func (p *proxy) noteLogin(c *call, body []byte, rec *recorder) {
	m, err := simulator.UnmarshalBody(vimType, body)
	if err != nil {
		return
	}
	req, ok := m.Body.(*types.Login)
	if !ok {
		return
	}
	user, session := req.UserName, ""
	if rec != nil {
		for _, cookie := range (&http.Response{Header: rec.header}).Cookies() {
			if name, ok := p.soapSession(cookie.Value); ok {
				user, session = name, cookie.Value
			}
		}
	}
	p.log.update(c, func(e *logEntry) { e.User, e.Session = user, hashKey(session) })
}

// sameLogin compares names as a person would write them to log in.
func (a *authority) sameLogin(x, y string) bool {
	return a.dir.qualify(x).key() == a.dir.qualify(y).key()
}

// rest guards the REST service: logins are checked, tags are attached by
// vCenter's rules, and privileges are enforced if the inventory says so.
func (p *proxy) rest(c *call, r *http.Request, body []byte) *recorder {
	path := strings.TrimSuffix(c.path, "/")
	if path == "/api" {
		return restError(http.StatusNotFound, "not_found", "JSON-RPC is not simulated.")
	}
	if path == restSessionPath && r.Method == http.MethodPost && r.URL.Query().Get("~action") == "" {
		return p.restLogin(c, r)
	}
	if c.user == "" || c.session == "" {
		return restError(http.StatusUnauthorized, "unauthenticated", "This method requires authentication.")
	}
	t := parseTagCall(c, r, body)
	if p.inv.Enforce {
		if missing := p.restLacking(c, r, t); missing != "" {
			return restError(http.StatusForbidden, "unauthorized", "Missing privilege "+missing+".")
		}
	}
	if t != nil {
		return polish(p.tagging(c, r, t))
	}
	return polish(p.forward(c, r))
}

func (p *proxy) restLogin(c *call, r *http.Request) *recorder {
	name, password, basic := r.BasicAuth()
	user := ""
	if basic {
		var fault types.BaseMethodFault
		if user, fault = p.checkLogin(name, password); fault != nil {
			kind := reflect.TypeOf(fault).Elem().Name()
			p.log.update(c, func(e *logEntry) { e.Fault = kind })
			if kind == "NoPermission" {
				return restError(http.StatusForbidden, "unauthorized", faultMessage(kind))
			}
			return restError(http.StatusUnauthorized, "unauthenticated", "Authentication required.")
		}
	} else if !strings.HasPrefix(r.Header.Get("Authorization"), "SIGN ") {
		return restError(http.StatusUnauthorized, "unauthenticated", "Authentication required.")
	}
	rec := p.forward(c, r)
	var res struct {
		Value string `json:"value"`
	}
	if rec != nil && rec.status == http.StatusOK && user != "" && json.Unmarshal(rec.body.Bytes(), &res) == nil {
		p.vapi.setUser(res.Value, user)
		p.log.update(c, func(e *logEntry) { e.User, e.Session = user, hashKey(res.Value) })
	}
	return rec
}

// sts checks the password of a token request, which the simulator does not,
// and makes the token say who asked.
func (p *proxy) sts(c *call, r *http.Request, body []byte) *recorder {
	var req struct {
		User     string `xml:"Header>Security>UsernameToken>Username"`
		Password string `xml:"Header>Security>UsernameToken>Password"`
	}
	_ = xml.Unmarshal(body, &req)
	p.log.update(c, func(e *logEntry) { e.User = req.User })
	if req.User != "" {
		if _, fault := p.checkLogin(req.User, req.Password); fault != nil {
			return newRecorder().soap(http.StatusInternalServerError, []byte(envelopeOpen+
				`<soapenv:Fault xmlns:ns0="http://docs.oasis-open.org/ws-sx/ws-trust/200512"><faultcode>ns0:FailedAuthentication</faultcode>`+
				`<faultstring>Invalid credentials</faultstring></soapenv:Fault>`+envelopeClose))
		}
	}
	rec := p.forward(c, r)
	if rec != nil && req.User != "" {
		id := p.dir.qualify(req.User)
		text := strings.Replace(rec.body.String(), "Administrator@VSPHERE.LOCAL", id.name+"@"+strings.ToUpper(id.domain), 1)
		rec.body.Reset()
		rec.body.WriteString(text)
	}
	return rec
}
