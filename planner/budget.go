package planner

// Budget is the arithmetic of one workload's round. Counting is in count.go.
type Budget struct {
	Replicas       int    `json:"replicas"`
	Partition      int    `json:"partition"`      // pods that stay at the old template
	MaxUnavailable int    `json:"maxUnavailable"` // resolved
	Unavailable    int    `json:"unavailable"`
	Room           int    `json:"room"` // pods that may become unavailable now
	Text           string `json:"text"`
}
