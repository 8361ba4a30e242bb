package poller

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule says when the remote is asked.
type Schedule struct {
	cron cron.Schedule
	text string
}

// EveryMinute is the schedule where none is given.
const EveryMinute = "* * * * *"

// ParseSchedule reads a cron line of five fields, or one of @every 30s,
// @hourly, @daily and their like.
func ParseSchedule(text string) (Schedule, error) {
	schedule, err := cron.ParseStandard(text)
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule is %q; want five cron fields such as %q, or @every 30s, @hourly, @daily: %w", text, "*/5 * * * *", err)
	}
	return Schedule{cron: schedule, text: text}, nil
}

// String is the schedule as it was written.
func (s Schedule) String() string { return s.text }

// next is the first moment after t; n times on. A schedule that names no such
// moment (30 February) never comes.
func (s Schedule) next(t time.Time, n int) (time.Time, bool) {
	for range n {
		if t = s.cron.Next(t); t.IsZero() {
			return t, false
		}
	}
	return t, true
}
