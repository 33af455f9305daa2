package main

import (
	"fmt"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

const systemDomain = "vsphere.local"

// principal is a user or group, compared without regard to case. The zero
// domain means a short name, which vCenter does not resolve in privilege
// queries: only a login tries the default domain.
type principal struct{ domain, name string }

func (p principal) key() principal {
	return principal{strings.ToLower(p.domain), strings.ToLower(p.name)}
}

// directory is the identity provider: who exists, with which password, in
// which groups.
type directory struct {
	mu            sync.RWMutex
	defaultDomain string
	domains       []Domain
	users         map[principal]*account
	groups        map[principal]*groupEntry
	// loaded: domains are read without the lock, so they are fixed at start.
	loaded bool
}

type account struct {
	User
	id principal
}

type groupEntry struct {
	id      principal
	members map[principal]bool
}

func newDirectory() *directory {
	d := &directory{
		defaultDomain: systemDomain,
		domains:       []Domain{{Name: systemDomain, NetBIOS: strings.ToUpper(systemDomain)}},
		users:         make(map[principal]*account),
		groups:        make(map[principal]*groupEntry),
	}
	d.group(principal{systemDomain, "Administrators"})
	return d
}

// parse splits name@domain and DOMAIN\name, and turns a NetBIOS name into the
// domain it belongs to.
func (d *directory) parse(s string) principal {
	p := principal{name: s}
	if i := strings.Index(s, `\`); i >= 0 {
		p = principal{s[:i], s[i+1:]}
	} else if i := strings.LastIndex(s, "@"); i >= 0 {
		p = principal{s[i+1:], s[:i]}
	}
	for _, dom := range d.domains {
		if strings.EqualFold(p.domain, dom.Name) || (dom.NetBIOS != "" && strings.EqualFold(p.domain, dom.NetBIOS)) {
			p.domain = dom.Name
		}
	}
	return p
}

// qualify is parse with the default domain for short names.
func (d *directory) qualify(s string) principal {
	p := d.parse(s)
	if p.domain == "" {
		p.domain = d.defaultDomain
	}
	return p
}

// display is the DOMAIN\name form that sessions and permissions show.
func (d *directory) display(p principal) string {
	short := strings.ToUpper(p.domain)
	for _, dom := range d.domains {
		if strings.EqualFold(dom.Name, p.domain) && dom.NetBIOS != "" {
			short = dom.NetBIOS
		}
	}
	return short + `\` + p.name
}

// group returns a group, making it on first mention. Call with mu held or
// before the directory is shared.
func (d *directory) group(p principal) *groupEntry {
	g := d.groups[p.key()]
	if g == nil {
		g = &groupEntry{id: p, members: make(map[principal]bool)}
		d.groups[p.key()] = g
	}
	return g
}

func (d *directory) load(inv *Inventory) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.loaded && (len(inv.Domains) > 0 || inv.DefaultDomain != "") {
		return fmt.Errorf("domains can be given at start only")
	}
	d.loaded = true
	for _, dom := range inv.Domains {
		if dom.Name == "" {
			return fmt.Errorf("a domain has no name")
		}
		d.domains = append(d.domains, dom)
	}
	if inv.DefaultDomain != "" {
		d.defaultDomain = d.parse("x@" + inv.DefaultDomain).domain
	}
	for _, g := range inv.Groups {
		entry := d.group(d.qualify(g.Name))
		for _, m := range g.Members {
			entry.members[d.qualify(m).key()] = true
		}
	}
	for _, u := range inv.Users {
		id := d.qualify(u.Name)
		if u.LoginFault != "" {
			if _, err := newFault(u.LoginFault, nil); err != nil {
				return fmt.Errorf("user %s: %w", u.Name, err)
			}
		}
		d.users[id.key()] = &account{User: u, id: id}
		for _, g := range u.Groups {
			d.group(d.groupName(g)).members[id.key()] = true
		}
	}
	// Without this a test that says nothing about users could not log in.
	admin := principal{systemDomain, "Administrator"}
	if d.users[admin.key()] == nil {
		d.users[admin.key()] = &account{User: User{Name: "administrator@vsphere.local", Password: "VMware1!"}, id: admin}
	}
	d.group(principal{systemDomain, "Administrators"}).members[admin.key()] = true
	return nil
}

// groupName: a short group name means an existing group of the system domain
// ("Administrators") before one of the default domain.
func (d *directory) groupName(s string) principal {
	if p := d.parse(s); p.domain != "" {
		return p
	}
	if p := (principal{systemDomain, s}); d.groups[p.key()] != nil {
		return p
	}
	return d.qualify(s)
}

// groupsOf is every group that has p as a member, through other groups too.
func (d *directory) groupsOf(p principal) map[principal]bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	found := make(map[principal]bool)
	todo := []principal{p.key()}
	for len(todo) > 0 {
		next := todo[0]
		todo = todo[1:]
		for key, g := range d.groups {
			if g.members[next] && !found[key] {
				found[key] = true
				todo = append(todo, key)
			}
		}
	}
	return found
}

func (d *directory) exists(p principal) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.users[p.key()] != nil
}

// login checks credentials. vCenter tells a wrong name, a wrong password and a
// locked account apart in its own log only: all three are InvalidLogin.
func (d *directory) login(name, password string) (string, types.BaseMethodFault) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	id := d.qualify(name)
	user := d.users[id.key()]
	if user == nil || user.Password != password || user.Locked {
		return "", new(types.InvalidLogin)
	}
	if user.Expired {
		return "", new(types.PasswordExpired)
	}
	if user.LoginFault != "" {
		fault, err := newFault(user.LoginFault, nil)
		if err == nil {
			return "", fault
		}
	}
	return d.display(user.id), nil
}

// searchResults feed UserDirectory.RetrieveUserGroups.
func (d *directory) searchResults() (out []*types.UserSearchResult) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, u := range d.users {
		out = append(out, &types.UserSearchResult{Principal: d.display(u.id), FullName: u.id.name})
	}
	for _, g := range d.groups {
		out = append(out, &types.UserSearchResult{Principal: d.display(g.id), FullName: g.id.name, Group: true})
	}
	return out
}
