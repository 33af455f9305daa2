package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// recorder keeps an answer back until the wrapper has looked at it.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{header: make(http.Header), status: http.StatusOK} }

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
func (r *recorder) WriteHeader(status int)      { r.status = status }

func (r *recorder) soap(status int, body []byte) *recorder {
	r.header.Set("Content-Type", "text/xml; charset=utf-8")
	r.status = status
	r.body.Write(body)
	return r
}

func (r *recorder) json(status int, v any) *recorder {
	r.header.Set("Content-Type", "application/json")
	r.status = status
	_ = json.NewEncoder(&r.body).Encode(v)
	return r
}

// restError is a vAPI error as the /rest endpoints write it.
func restError(status int, kind, message string) *recorder {
	return newRecorder().json(status, map[string]any{
		"type": "com.vmware.vapi.std.errors." + strings.TrimPrefix(kind, "com.vmware.vapi.std.errors."),
		"value": map[string]any{"messages": []any{map[string]any{
			"id": "vcsim", "default_message": message, "args": []string{},
		}}},
	})
}

// counter notes status and size of an answer that is streamed.
type counter struct {
	http.ResponseWriter
	status, n int
}

func (c *counter) WriteHeader(status int) { c.status = status; c.ResponseWriter.WriteHeader(status) }
func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return c.ResponseWriter.Write(p)
}
