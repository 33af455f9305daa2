package main

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// maxTotalLatency is the simulator's id of the counter disk.maxTotalLatency.latest.
const maxTotalLatency = 133

// perfManager answers with the latency that the inventory gives a VM. The
// simulator makes up the rest.
type perfManager struct {
	simulator.PerformanceManager // first field: the property collector reads it

	latency *sync.Map
}

func (p *perfManager) QueryPerf(ctx *simulator.Context, req *types.QueryPerf) soap.HasFault {
	body := p.PerformanceManager.QueryPerf(ctx, req)
	made, ok := body.(*methods.QueryPerfBody)
	if !ok || made.Res == nil {
		return body
	}
	for _, base := range made.Res.Returnval {
		metrics, ok := base.(*types.PerfEntityMetric)
		if !ok {
			continue
		}
		wanted, ok := p.latency.Load(metrics.Entity)
		if !ok {
			continue
		}
		for _, value := range metrics.Value {
			series, ok := value.(*types.PerfMetricIntSeries)
			if !ok || series.Id.CounterId != maxTotalLatency {
				continue
			}
			for i := range series.Value {
				series.Value[i] = wanted.(int64)
			}
		}
	}
	return body
}
