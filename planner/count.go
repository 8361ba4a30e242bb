package planner

import "fmt"

// Budget is the arithmetic of one workload's round.
type Budget struct {
	Replicas       int    `json:"replicas"`       // wanted
	Partition      int    `json:"partition"`      // pods that stay at the old template
	MaxUnavailable int    `json:"maxUnavailable"` // resolved to a number of pods
	Unavailable    int    `json:"unavailable"`    // now, missing ones included
	Room           int    `json:"room"`           // pods that may become unavailable now
	Text           string `json:"text"`           // the same in words
}

// Count resolves partition and maxUnavailable against the pods of a workload.
// Every kind is counted here.
//
//	partition, percent        rounds up; below 100% and with more than one replica, at least one pod is updated
//	maxUnavailable, percent   rounds down, and is at least 1 unless it was written 0
//	                          (floor 0 for a stock Deployment, which keeps its own rule)
func Count(replicas, available int, partition, maxUnavailable *Amount, floor int) Budget {
	b := Budget{Replicas: replicas, Unavailable: max(0, replicas-available)}
	b.Partition = resolvePartition(partition, replicas)
	b.MaxUnavailable = resolveMaxUnavailable(maxUnavailable, replicas, floor)
	b.Room = max(0, b.MaxUnavailable-b.Unavailable)
	written := "1"
	if maxUnavailable != nil {
		written = maxUnavailable.String()
	}
	b.Text = fmt.Sprintf("%d wanted, maxUnavailable %s is %d, %d unavailable: room for %d", replicas, written, b.MaxUnavailable, b.Unavailable, b.Room)
	if partition != nil {
		b.Text += fmt.Sprintf("; partition %s keeps %d", partition, b.Partition)
	}
	return b
}

func resolvePartition(partition *Amount, replicas int) int {
	if partition == nil {
		return 0
	}
	kept := partition.Value
	if partition.Percent {
		kept = (replicas*partition.Value + 99) / 100
		if partition.Value < 100 && replicas > 1 {
			kept = min(kept, replicas-1)
		}
	}
	return min(kept, replicas)
}

func resolveMaxUnavailable(maxUnavailable *Amount, replicas, floor int) int {
	if maxUnavailable == nil {
		return 1
	}
	if !maxUnavailable.Percent {
		return maxUnavailable.Value
	}
	if maxUnavailable.Value == 0 {
		return 0
	}
	return max(floor, replicas*maxUnavailable.Value/100)
}
