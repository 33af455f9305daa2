package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// tagCall is a tag-association request in any of its forms: one tag or many,
// one object or many.
type tagCall struct {
	action  string
	tags    []string
	objects []ref
}

func parseTagCall(c *call, r *http.Request, body []byte) *tagCall {
	rest, ok := strings.CutPrefix(c.path, restTagging+"tag-association")
	if !ok {
		return nil
	}
	type object struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}
	var req struct {
		Object  *object  `json:"object_id"`
		Objects []object `json:"object_ids"`
		Tags    []string `json:"tag_ids"`
	}
	_ = json.Unmarshal(body, &req)
	t := &tagCall{action: r.URL.Query().Get("~action"), tags: req.Tags}
	if id, ok := strings.CutPrefix(rest, "/id:"); ok {
		t.tags = append(t.tags, id)
	}
	if req.Object != nil {
		req.Objects = append(req.Objects, *req.Object)
	}
	for _, o := range req.Objects {
		t.objects = append(t.objects, ref{Type: o.Type, Value: o.ID})
	}
	return t
}

func (t *tagCall) attaches() bool { return strings.HasPrefix(t.action, "attach") }
func (t *tagCall) detaches() bool { return strings.HasPrefix(t.action, "detach") }

// tagging answers tag-association requests by vCenter's rules: the batch forms
// report problems in their result, the simple ones as errors.
func (p *proxy) tagging(c *call, r *http.Request, t *tagCall) *recorder {
	if t.attaches() {
		for _, tag := range t.tags {
			for _, at := range t.objects {
				problem := p.tagProblem(tag, at)
				if problem == "" {
					continue
				}
				text := fmt.Sprintf("Tag %s cannot be attached to %s.", tag, at)
				switch {
				case t.action != "attach":
					return newRecorder().json(http.StatusOK, map[string]any{"value": map[string]any{
						"success":        false,
						"error_messages": []any{map[string]any{"id": "cis.tagging." + problem, "default_message": text, "args": []string{}}},
					}})
				case problem == "not_found":
					return restError(http.StatusNotFound, problem, text)
				default:
					return restError(http.StatusBadRequest, problem, text)
				}
			}
		}
	}
	rec := p.forward(c, r)
	if t.detaches() && rec != nil && rec.status == http.StatusOK {
		// The simulator's batch form leaves the object in the tag's list.
		p.vapi.Lock()
		defer p.vapi.Unlock()
		for _, tag := range t.tags {
			for _, at := range t.objects {
				_ = p.vapi.attached.DetachTag(at, tag)
			}
		}
	}
	return rec
}

// polish makes answers of the simulator look like vCenter's: errors are JSON,
// an empty list is a list.
func polish(rec *recorder) *recorder {
	if rec == nil {
		return nil
	}
	body := bytes.TrimSpace(rec.body.Bytes())
	if rec.status >= 400 && !bytes.HasPrefix(body, []byte("{")) {
		kind := map[int]string{
			http.StatusNotFound: "not_found", http.StatusUnauthorized: "unauthenticated",
			http.StatusForbidden: "unauthorized", http.StatusBadRequest: "invalid_argument",
		}[rec.status]
		if kind == "" {
			kind = "error"
		}
		return restError(rec.status, kind, string(body))
	}
	if bytes.Equal(body, []byte(`{"value":null}`)) {
		rec.body.Reset()
		rec.body.WriteString(`{"value":[]}`)
	}
	if len(body) > 0 {
		rec.header.Set("Content-Type", "application/json")
	}
	return rec
}
