package main

import (
	"log"
	"net/netip"
	"sync"

	"github.com/vmware/govmomi/simulator"
)

// leases gives machines that are powered on an address, as a DHCP server and
// VMware Tools in the guest would.
type leases struct {
	mu    sync.Mutex
	next  netip.Addr
	given map[ref]string
	// Machines with addresses of their own, which ask for none.
	static sync.Map
}

// firstLease leaves room for routers and virtual addresses.
const firstLease = 100

func (l *leases) give(e *estate, r ref) {
	vm, ok := e.reg.Get(r).(*simulator.VirtualMachine)
	if _, static := l.static.Load(r); static || !ok {
		return
	}
	var name string
	e.reg.WithLock(e.newContext(), vm, func() { name = hostName(vm) })
	if err := e.setGuest(r, guestState{Hostname: name, IPs: []string{l.address(e.inv.DHCP, r)}}); err != nil {
		log.Printf("dhcp: %v", err)
	}
}

func hostName(vm *simulator.VirtualMachine) string {
	for _, o := range vm.Config.ExtraConfig {
		if v := o.GetOptionValue(); v.Key == "guestinfo.hostname" {
			if text, ok := v.Value.(string); ok && text != "" {
				return text
			}
		}
	}
	return vm.Name
}

func (l *leases) address(network string, r ref) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text, ok := l.given[r]; ok {
		return text
	}
	if l.given == nil {
		l.given = make(map[ref]string)
		prefix, err := netip.ParsePrefix(network)
		if err != nil {
			log.Printf("dhcp: %v", err)
			return ""
		}
		l.next = prefix.Masked().Addr()
		for range firstLease {
			l.next = l.next.Next()
		}
	}
	text := l.next.String()
	l.given[r], l.next = text, l.next.Next()
	return text
}
