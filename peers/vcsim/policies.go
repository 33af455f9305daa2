package main

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/pbm/methods"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// buildPolicy makes a storage policy over the wire, as the service has no
// in-process way in. A policy with a tag has the one rule that vCenter writes
// for tag-based placement.
func (e *estate) buildPolicy(p Policy) error {
	spec := pbmtypes.PbmCapabilityProfileCreateSpec{
		Name: p.Name, Description: p.Description, Category: "REQUIREMENT",
		ResourceType: pbmtypes.PbmProfileResourceType{ResourceType: "STORAGE"},
	}
	sub := pbmtypes.PbmCapabilitySubProfile{Name: "Tag based placement"}
	if p.Tag != "" {
		if p.Category == "" {
			return fmt.Errorf("a tag needs its category")
		}
		sub.Capability = []pbmtypes.PbmCapabilityInstance{{
			Id: pbmtypes.PbmCapabilityMetadataUniqueId{
				Namespace: "http://www.vmware.com/storage/tag", Id: p.Category,
			},
			Constraint: []pbmtypes.PbmCapabilityConstraintInstance{{
				PropertyInstance: []pbmtypes.PbmCapabilityPropertyInstance{{
					Id:    "com.vmware.storage.tag." + p.Category + ".property",
					Value: pbmtypes.PbmCapabilityDiscreteSet{Values: []types.AnyType{p.Tag}},
				}},
			}},
		}}
	}
	spec.Constraints = &pbmtypes.PbmCapabilitySubProfileConstraints{
		SubProfiles: []pbmtypes.PbmCapabilitySubProfile{sub},
	}
	ctx := context.Background()
	sc := soap.NewClient(e.server.URL, true)
	vc, err := vim25.NewClient(ctx, sc)
	if err != nil {
		return err
	}
	sm := session.NewManager(vc)
	if err := sm.Login(ctx, e.svc.Listen.User); err != nil {
		return err
	}
	defer func() { _ = sm.Logout(ctx) }()
	pc, err := pbm.NewClient(ctx, vc)
	if err != nil {
		return err
	}
	_, err = methods.PbmCreate(ctx, pc, &pbmtypes.PbmCreate{
		This: pc.ServiceContent.ProfileManager, CreateSpec: spec,
	})
	return err
}
