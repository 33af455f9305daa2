package main

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"sync"
	"time"
)

// call is one request while it is served.
type call struct {
	kind    string // soap, rest, http
	path    string
	query   string
	method  string // SOAP method or HTTP verb
	this    ref
	user    string
	session string // key; the log shows a hash of it
	conn    uint64
	entry   *logEntry
}

// logEntry is a request as GET /requests shows it. It is appended when the
// request arrives, so that requests that hang are seen too.
type logEntry struct {
	Seq        int       `json:"seq"`
	Time       time.Time `json:"time"`
	Kind       string    `json:"kind"`
	Method     string    `json:"method"`
	Path       string    `json:"path"`
	Query      string    `json:"query,omitempty"`
	Object     string    `json:"object,omitempty"`
	User       string    `json:"user,omitempty"`
	Session    string    `json:"session,omitempty"`
	Connection uint64    `json:"connection"`
	Done       bool      `json:"done"`
	DurationMS float64   `json:"duration_ms"`
	Status     int       `json:"status,omitempty"` // 0: the connection was cut
	Fault      string    `json:"fault,omitempty"`
	Injected   bool      `json:"injected,omitempty"` // a rule of ours acted
	Task       string    `json:"task,omitempty"`
	BytesIn    int       `json:"bytes_in"`
	BytesOut   int       `json:"bytes_out"`
}

type requestLog struct {
	mu       sync.Mutex
	entries  []*logEntry
	seq      int
	active   int
	peak     int
	byMethod map[string]int

	connSeq  uint64
	conns    map[net.Conn]uint64
	peakConn int
}

func newRequestLog() *requestLog {
	return &requestLog{byMethod: make(map[string]int), conns: make(map[net.Conn]uint64)}
}

func hashKey(key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:6])
}

func (l *requestLog) begin(c *call, in int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	c.entry = &logEntry{
		Seq: l.seq, Time: time.Now().UTC(), Kind: c.kind, Method: c.method, Path: c.path, Query: c.query,
		User: c.user, Session: hashKey(c.session), Connection: c.conn, BytesIn: in,
	}
	if c.this.Type != "" {
		c.entry.Object = c.this.String()
	}
	l.entries = append(l.entries, c.entry)
	name := c.method
	if c.kind != "soap" {
		name += " " + c.path
	}
	l.byMethod[name]++
	l.active++
	l.peak = max(l.peak, l.active)
}

// update changes an entry that readers may be looking at.
func (l *requestLog) update(c *call, f func(*logEntry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(c.entry)
}

func (l *requestLog) end(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.entry.Done = true
	c.entry.DurationMS = float64(time.Since(c.entry.Time).Microseconds()) / 1000
	l.active--
}

func (l *requestLog) since(seq int) []logEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := []logEntry{}
	for _, e := range l.entries {
		if e.Seq > seq {
			out = append(out, *e)
		}
	}
	return out
}

// clear forgets entries, counts and peaks; sequence numbers go on.
func (l *requestLog) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
	l.byMethod = make(map[string]int)
	l.peak = l.active
	l.peakConn = len(l.conns)
}

// reset also starts the numbers anew: used once, when the estate is built.
func (l *requestLog) reset() {
	l.clear()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq = 0
}

type logStats struct {
	Requests        int            `json:"requests"`
	ByMethod        map[string]int `json:"by_method"`
	Active          int            `json:"active_requests"`
	PeakActive      int            `json:"peak_concurrent_requests"`
	Connections     int            `json:"open_connections"`
	PeakConnections int            `json:"peak_connections"`
	TotalConns      uint64         `json:"total_connections"`
}

func (l *requestLog) stats() logStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := logStats{
		Requests: len(l.entries), ByMethod: make(map[string]int), Active: l.active, PeakActive: l.peak,
		Connections: len(l.conns), PeakConnections: l.peakConn, TotalConns: l.connSeq,
	}
	for k, v := range l.byMethod {
		s.ByMethod[k] = v
	}
	return s
}

// connState numbers connections and counts open ones.
func (l *requestLog) connState(c net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateNew:
		l.number(c)
	case http.StateClosed, http.StateHijacked:
		delete(l.conns, c)
	}
}

func (l *requestLog) number(c net.Conn) uint64 {
	if n, ok := l.conns[c]; ok {
		return n
	}
	l.connSeq++
	l.conns[c] = l.connSeq
	l.peakConn = max(l.peakConn, len(l.conns))
	return l.connSeq
}

func (l *requestLog) connID(c net.Conn) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.number(c)
}
