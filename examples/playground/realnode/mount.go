package realnode

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// mount is one line of the kernel's table.
type mount struct{ point, kind string }

// readMounts lists mounts in the order they were made.
func readMounts() ([]mount, error) {
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	// The kernel escapes these in a path.
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var mounts []mount
	for line := range strings.Lines(string(content)) {
		place, device, found := strings.Cut(line, " - ")
		fields, kinds := strings.Fields(place), strings.Fields(device)
		if !found || len(fields) < 5 || len(kinds) < 1 {
			continue
		}
		mounts = append(mounts, mount{point: unescape.Replace(fields[4]), kind: kinds[0]})
	}
	return mounts, nil
}

// unmountBelow takes away every mount in dir, the newest first. A mount still in
// use goes when its last user does.
func unmountBelow(dir string) error {
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	var errs []error
	for i := len(mounts) - 1; i >= 0; i-- {
		point := mounts[i].point
		if !strings.HasPrefix(point, dir+"/") {
			continue
		}
		err := syscall.Unmount(point, syscall.MNT_DETACH)
		if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
			errs = append(errs, fmt.Errorf("unmount %s: %w", point, err))
		}
	}
	return errors.Join(errs...)
}
