package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	restSessionPath = "/rest/com/vmware/cis/session"
	restTagging     = "/rest/com/vmware/cis/tagging/"
	restSessionID   = "vmware-api-session-id"
)

// vapiHandler reaches into the simulator's REST service. Its type is private,
// its fields and its lock are not.
type vapiHandler struct {
	http.Handler
	sync.Locker
	sessions   map[string]*rest.Session
	categories map[string]*tags.Category
	tags       map[string]*tags.Tag
	attached   interface {
		AttachedTags(ref) ([]string, types.BaseMethodFault)
		DetachTag(ref, string) types.BaseMethodFault
	}
}

func newVapiHandler(mux *http.ServeMux) (*vapiHandler, error) {
	h, _ := mux.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/rest/"}})
	v := &vapiHandler{Handler: h}
	var ok bool
	if v.Locker, ok = h.(sync.Locker); !ok {
		return nil, fmt.Errorf("the REST service is a %T: not the one this wrapper knows", h)
	}
	fields := reflect.ValueOf(h).Elem()
	get := func(name string) any {
		if f := fields.FieldByName(name); f.IsValid() {
			return f.Interface()
		}
		return nil
	}
	var ok1, ok2, ok3 bool
	v.sessions, ok1 = get("Session").(map[string]*rest.Session)
	v.categories, ok2 = get("Category").(map[string]*tags.Category)
	v.tags, ok3 = get("Tag").(map[string]*tags.Tag)
	if !ok1 || !ok2 || !ok3 {
		return nil, fmt.Errorf("the REST service %T has other fields than expected", h)
	}
	v.attached, ok = h.(interface {
		AttachedTags(ref) ([]string, types.BaseMethodFault)
		DetachTag(ref, string) types.BaseMethodFault
	})
	if !ok {
		return nil, fmt.Errorf("the REST service %T does not list attached tags", h)
	}
	return v, nil
}

// forget detaches all tags from an object that is being removed.
func (v *vapiHandler) forget(at ref) {
	v.Lock()
	defer v.Unlock()
	ids, _ := v.attached.AttachedTags(at)
	for _, id := range ids {
		_ = v.attached.DetachTag(at, id)
	}
}

func (v *vapiHandler) user(id string) (string, bool) {
	v.Lock()
	defer v.Unlock()
	s, ok := v.sessions[id]
	if !ok {
		return "", false
	}
	return s.User, true
}

func (v *vapiHandler) setUser(id, user string) {
	v.Lock()
	defer v.Unlock()
	if s, ok := v.sessions[id]; ok {
		s.User = user
	}
}

// expire ends sessions, all or those keep says no to, and returns their keys.
func (v *vapiHandler) expire(drop func(user string) bool) (keys []string) {
	v.Lock()
	defer v.Unlock()
	for id, s := range v.sessions {
		if drop(s.User) {
			delete(v.sessions, id)
			keys = append(keys, id)
		}
	}
	return keys
}

// do calls the service in process with a session that exists for this call.
func (v *vapiHandler) do(method, path string, in, out any) error {
	const key = "vcsim-internal"
	v.Lock()
	v.sessions[key] = &rest.Session{User: key, Created: time.Now(), LastAccessed: time.Now()}
	v.Unlock()
	defer func() {
		v.Lock()
		delete(v.sessions, key)
		v.Unlock()
	}()
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set(restSessionID, key)
	rec := newRecorder()
	v.ServeHTTP(rec, req)
	if rec.status != http.StatusOK {
		return fmt.Errorf("%s %s: status %d: %s", method, path, rec.status, strings.TrimSpace(rec.body.String()))
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(rec.body.Bytes(), &struct {
		Value any `json:"value"`
	}{out})
}

func categoryURN(name string) string {
	return "urn:vmomi:InventoryServiceCategory:" + stableUUID("category", name) + ":GLOBAL"
}

func tagURN(category, name string) string {
	return "urn:vmomi:InventoryServiceTag:" + stableUUID("tag", category, name) + ":GLOBAL"
}

// buildCategory makes a category, its tags and attachments; an existing
// category of that name gets the tags.
func (e *estate) buildCategory(c Category) error {
	cardinality := c.Cardinality
	if cardinality == "" {
		cardinality = "SINGLE"
	}
	if cardinality != "SINGLE" && cardinality != "MULTIPLE" {
		return fmt.Errorf("unknown cardinality %q", cardinality)
	}
	id := ""
	e.vapi.Lock()
	for _, have := range e.vapi.categories {
		if have.Name == c.Name {
			id = have.ID
		}
	}
	e.vapi.Unlock()
	if id == "" {
		spec := map[string]any{"create_spec": map[string]any{
			"name": c.Name, "description": c.Description, "cardinality": cardinality,
			"associable_types": slices.Clone(c.Types), "category_id": categoryURN(c.Name),
		}}
		if err := e.vapi.do(http.MethodPost, restTagging+"category", spec, &id); err != nil {
			return err
		}
	}
	for _, t := range c.Tags {
		tag := e.vapi.tagNamed(id, t.Name)
		spec := map[string]any{"create_spec": map[string]any{
			"name": t.Name, "description": t.Description, "category_id": id, "tag_id": tagURN(c.Name, t.Name),
		}}
		if tag == "" {
			if err := e.vapi.do(http.MethodPost, restTagging+"tag", spec, &tag); err != nil {
				return fmt.Errorf("tag %q: %w", t.Name, err)
			}
		}
		for _, path := range t.Attach {
			at, err := e.resolve(path)
			if err != nil {
				return fmt.Errorf("tag %q: %w", t.Name, err)
			}
			if problem := e.tagProblem(tag, at); problem != "" {
				return fmt.Errorf("tag %q on %s: %s", t.Name, path, problem)
			}
			body := map[string]any{"object_id": map[string]string{"type": at.Type, "id": at.Value}}
			if err := e.vapi.do(http.MethodPost, restTagging+"tag-association/id:"+tag+"?~action=attach", body, nil); err != nil {
				return fmt.Errorf("tag %q on %s: %w", t.Name, path, err)
			}
		}
	}
	return nil
}

// tagNamed is the id of a tag that is there already.
func (v *vapiHandler) tagNamed(category, name string) string {
	v.Lock()
	defer v.Unlock()
	for id, have := range v.tags {
		if have.CategoryID == category && have.Name == name {
			return id
		}
	}
	return ""
}

// tagProblem says why vCenter would refuse to attach a tag: the simulator
// checks neither the object, nor its type, nor the category's cardinality.
func (e *estate) tagProblem(tag string, at ref) string {
	if e.reg.Get(at) == nil {
		return "not_found"
	}
	e.vapi.Lock()
	defer e.vapi.Unlock()
	t := e.vapi.tags[tag]
	if t == nil {
		return "not_found"
	}
	cat := e.vapi.categories[t.CategoryID]
	if cat == nil {
		return ""
	}
	if !associable(cat.AssociableTypes, at.Type) {
		return "invalid_argument"
	}
	if cat.Cardinality == "SINGLE" {
		have, _ := e.vapi.attached.AttachedTags(at)
		for _, id := range have {
			if other := e.vapi.tags[id]; other != nil && id != tag && other.CategoryID == t.CategoryID {
				return "invalid_argument"
			}
		}
	}
	return ""
}

func associable(kinds []string, kind string) bool {
	if len(kinds) == 0 {
		return true
	}
	return slices.ContainsFunc(kinds, func(k string) bool {
		k = k[strings.LastIndex(k, ":")+1:] // urn:vim25:Datastore
		return k == kind || k == "All Objects" ||
			(k == "DistributedVirtualSwitch" && kind == "VmwareDistributedVirtualSwitch")
	})
}

// tagsOf lists the tags on an object as "category/tag".
func (e *estate) tagsOf(at ref) (out []string) {
	e.vapi.Lock()
	defer e.vapi.Unlock()
	ids, _ := e.vapi.attached.AttachedTags(at)
	for _, id := range ids {
		t := e.vapi.tags[id]
		if t == nil {
			continue
		}
		name := "?"
		if c := e.vapi.categories[t.CategoryID]; c != nil {
			name = c.Name
		}
		out = append(out, name+"/"+t.Name)
	}
	slices.Sort(out)
	return out
}
