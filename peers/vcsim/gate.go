package main

import (
	"net/http"
	"sync"
)

// freezeGate makes requests hang until thaw, or until their client leaves.
// Tasks that were accepted go on, unless they are what is frozen.
type freezeGate struct {
	mu     sync.Mutex
	kind   string        // "" is every kind of request
	method string        // "" is every method
	closed chan struct{} // nil when open
}

func newFreezeGate() *freezeGate { return new(freezeGate) }

func (g *freezeGate) freeze(kind, method string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kind, g.method = kind, method
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
}

func (g *freezeGate) thaw() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

func (g *freezeGate) frozen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed != nil
}

// tasks is closed at the thaw; nil if tasks go on.
func (g *freezeGate) tasks() chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kind != "task" {
		return nil
	}
	return g.closed
}

// wait returns false if the client left.
func (g *freezeGate) wait(r *http.Request, c *call) bool {
	g.mu.Lock()
	closed := g.closed
	if g.kind != "" && g.kind != c.kind || g.method != "" && g.method != c.method {
		closed = nil
	}
	g.mu.Unlock()
	if closed == nil {
		return true
	}
	select {
	case <-closed:
		return true
	case <-r.Context().Done():
		return false
	}
}

// liveRequests knows which requests are under way in which session.
type liveRequests struct {
	mu   sync.Mutex
	bySn map[string]map[chan struct{}]bool
}

func newLiveRequests() *liveRequests {
	return &liveRequests{bySn: make(map[string]map[chan struct{}]bool)}
}

func (l *liveRequests) add(session string) chan struct{} {
	ch := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bySn[session] == nil {
		l.bySn[session] = make(map[chan struct{}]bool)
	}
	l.bySn[session][ch] = true
	return ch
}

func (l *liveRequests) remove(session string, ch chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.bySn[session], ch)
	if len(l.bySn[session]) == 0 {
		delete(l.bySn, session)
	}
}

func (l *liveRequests) end(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ch := range l.bySn[session] {
		close(ch)
	}
	delete(l.bySn, session)
}
