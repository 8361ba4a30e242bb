package demo

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
)

// pods prints two tables below each other. What is new in the second stands out.
func (s screen) pods(before, after []corev1.Pod) {
	header, was := rows(before)
	_, is := rows(after)
	width := widths(header, was, is)
	s.row("", header, width, nil)
	for _, row := range was {
		s.row("before", row, width, nil)
	}
	for _, row := range is {
		i := slices.IndexFunc(was, func(old []string) bool { return old[0] == row[0] })
		if i < 0 {
			s.row("after", row, width, make([]string, len(row)))
			continue
		}
		s.row("after", row, width, was[i])
	}
}

// rows are the cells of pods, with a column for each container.
func rows(pods []corev1.Pod) (header []string, rows [][]string) {
	header = []string{"POD", "UID", "IP"}
	for i, pod := range pods {
		row := []string{pod.Name, string(pod.UID)[:min(8, len(pod.UID))], pod.Status.PodIP}
		restarts := restartsOf(pod)
		for _, container := range pod.Spec.Containers {
			if i == 0 {
				header = append(header, strings.ToUpper(container.Name))
			}
			row = append(row, shortImage(container.Image)+", "+plural(int(restarts[container.Name]), "%d restart", "%d restarts"))
		}
		rows = append(rows, row)
	}
	return header, rows
}

// shortImage is an image without its registry, and with the beginning of its digest.
func shortImage(image string) string {
	image, digest, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], "@")
	if digest != "" {
		image += "@" + digest[:min(len("sha256:")+6, len(digest))]
	}
	return image
}

func widths(header []string, tables ...[][]string) []int {
	width := make([]int, len(header))
	for _, row := range append([][]string{header}, slices.Concat(tables...)...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	return width
}

// row prints cells; those that differ from old, if there is one, stand out.
func (s screen) row(label string, cells []string, width []int, old []string) {
	line := fmt.Sprintf("  %-8s", label)
	for i, cell := range cells {
		padded := fmt.Sprintf("%-*s", width[i], cell)
		if old != nil && old[i] != cell {
			padded = s.in(green, padded)
		}
		line += padded + "  "
	}
	fmt.Fprintln(s.out, strings.TrimRight(line, " "))
}
