package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// Rule injects one fault into requests that match. Rules count, they never
// roll dice: the same requests always meet the same faults. Every matching
// rule sees every request; of those that are due the oldest acts.
type Rule struct {
	ID    int    `json:"id,omitempty"`
	On    Match  `json:"on"`
	Skip  int    `json:"skip,omitempty"`  // let this many pass first
	Count int    `json:"count,omitempty"` // then act this often; 0 is always
	Fault Action `json:"fault"`

	Seen  int `json:"seen,omitempty"`
	Fired int `json:"fired,omitempty"`
}

// Match selects requests; what is empty matches everything.
type Match struct {
	Kind   string `json:"kind,omitempty"`   // soap, rest or http (uploads, downloads)
	Method string `json:"method,omitempty"` // SOAP method, or the HTTP verb
	Path   string `json:"path,omitempty"`   // prefix of the URL path
	Query  string `json:"query,omitempty"`  // part of the URL's query, as "~action=attach"
	Object string `json:"object,omitempty"` // inventory path or Type:value
	User   string `json:"user,omitempty"`
}

// Action is what happens. In JSON a SOAP fault is written flat: its type, an
// optional message, and the fields of that type; the other keys are those of
// actionKeys and may be combined with it.
type Action struct {
	DelayMS    int
	Drop       string // "before" the request is executed, or "after"
	HTTPStatus int
	RetryAfter int
	Body       string

	FaultType   string // for REST: the vAPI error type
	Message     string
	FaultFields map[string]json.RawMessage

	TaskFault   *Action // the task is accepted and ends in this fault
	TaskDelayMS int

	Hide string // a property that the answer does not have
}

type actionKeys struct {
	Type        string  `json:"type,omitempty"`
	Message     string  `json:"message,omitempty"`
	DelayMS     int     `json:"delay_ms,omitempty"`
	Drop        string  `json:"drop,omitempty"`
	HTTPStatus  int     `json:"http_status,omitempty"`
	RetryAfter  int     `json:"retry_after,omitempty"`
	Body        string  `json:"body,omitempty"`
	TaskFault   *Action `json:"task_fault,omitempty"`
	TaskDelayMS int     `json:"task_delay_ms,omitempty"`
	Hide        string  `json:"hide,omitempty"`
}

func (a *Action) UnmarshalJSON(data []byte) error {
	var keys actionKeys
	if err := json.Unmarshal(data, &keys); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	for _, k := range []string{"type", "message", "delay_ms", "drop", "http_status", "retry_after", "body", "task_fault", "task_delay_ms", "hide"} {
		delete(all, k)
	}
	*a = Action{
		DelayMS: keys.DelayMS, Drop: keys.Drop, HTTPStatus: keys.HTTPStatus, RetryAfter: keys.RetryAfter,
		Body: keys.Body, FaultType: keys.Type, Message: keys.Message, FaultFields: all,
		TaskFault: keys.TaskFault, TaskDelayMS: keys.TaskDelayMS, Hide: keys.Hide,
	}
	if a.FaultType == "" && len(all) > 0 {
		names := make([]string, 0, len(all))
		for k := range all {
			names = append(names, k)
		}
		return fmt.Errorf("unknown fields in fault: %s", strings.Join(names, ", "))
	}
	return nil
}

func (a Action) MarshalJSON() ([]byte, error) {
	data, err := json.Marshal(actionKeys{
		Type: a.FaultType, Message: a.Message, DelayMS: a.DelayMS, Drop: a.Drop, HTTPStatus: a.HTTPStatus,
		RetryAfter: a.RetryAfter, Body: a.Body, TaskFault: a.TaskFault, TaskDelayMS: a.TaskDelayMS, Hide: a.Hide,
	})
	if err != nil || len(a.FaultFields) == 0 {
		return data, err
	}
	all := make(map[string]json.RawMessage)
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	for k, v := range a.FaultFields {
		all[k] = v
	}
	return json.Marshal(all)
}

// vimFault builds the SOAP fault of an action.
func (a *Action) vimFault() (types.BaseMethodFault, error) {
	return newFault(a.FaultType, a.FaultFields)
}

func (a *Action) delay() time.Duration { return time.Duration(a.DelayMS) * time.Millisecond }

// onTask: the action concerns the task a method starts, not the call.
func (a *Action) onTask() bool { return a.TaskFault != nil || a.TaskDelayMS > 0 }

// faultBook holds the rules.
type faultBook struct {
	mu      sync.Mutex
	rules   []*Rule
	next    int
	resolve func(string) (ref, error)
}

func newFaultBook(resolve func(string) (ref, error)) *faultBook {
	return &faultBook{next: 1, resolve: resolve}
}

func (b *faultBook) add(r Rule) (int, error) {
	switch r.On.Kind {
	case "", "soap", "rest", "http":
	default:
		return 0, fmt.Errorf("unknown kind %q", r.On.Kind)
	}
	a := &r.Fault
	switch a.Drop {
	case "", "before", "after":
	default:
		return 0, fmt.Errorf("drop is %q, want before or after", a.Drop)
	}
	if a.DelayMS == 0 && a.Drop == "" && a.HTTPStatus == 0 && a.FaultType == "" && a.Hide == "" && !a.onTask() {
		return 0, fmt.Errorf("the fault says nothing")
	}
	if a.FaultType != "" && r.On.Kind != "rest" {
		if _, err := a.vimFault(); err != nil {
			return 0, err
		}
	}
	if a.TaskFault != nil {
		if _, err := a.TaskFault.vimFault(); err != nil {
			return 0, fmt.Errorf("task_fault: %w", err)
		}
	}
	if a.onTask() && !strings.HasSuffix(r.On.Method, "_Task") {
		return 0, fmt.Errorf("task_fault and task_delay_ms need a vim25 method that ends in _Task")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	r.ID, r.Seen, r.Fired = b.next, 0, 0
	b.next++
	b.rules = append(b.rules, &r)
	return r.ID, nil
}

// remove deletes one rule, or all with id 0.
func (b *faultBook) remove(id int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.rules)
	b.rules = slices.DeleteFunc(b.rules, func(r *Rule) bool { return id == 0 || r.ID == id })
	return len(b.rules) < before
}

func (b *faultBook) list() []Rule {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]Rule, 0, len(b.rules))
	for _, r := range b.rules {
		out = append(out, *r)
	}
	return out
}

// act returns what to do to a request, or nil.
func (b *faultBook) act(c *call, sameUser func(a, b string) bool) *Action {
	b.mu.Lock()
	defer b.mu.Unlock()
	var due *Rule
	for _, r := range b.rules {
		if !b.matches(&r.On, c, sameUser) {
			continue
		}
		r.Seen++
		if due == nil && r.Seen > r.Skip && (r.Count == 0 || r.Fired < r.Count) {
			due = r
		}
	}
	if due == nil {
		return nil
	}
	due.Fired++
	action := due.Fault
	return &action
}

func (b *faultBook) matches(m *Match, c *call, sameUser func(a, b string) bool) bool {
	if m.Kind != "" && m.Kind != c.kind {
		return false
	}
	if m.Method != "" && m.Method != c.method {
		return false
	}
	if m.Path != "" && !strings.HasPrefix(c.path, m.Path) {
		return false
	}
	if m.Query != "" && !strings.Contains(c.query, m.Query) {
		return false
	}
	if m.User != "" && !sameUser(m.User, c.user) {
		return false
	}
	if m.Object != "" {
		// A path is looked up now: the object may be younger than the rule.
		want, err := b.resolve(m.Object)
		if err != nil || want != c.this {
			return false
		}
	}
	return true
}
