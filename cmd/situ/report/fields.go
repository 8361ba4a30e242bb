package report

import (
	"fmt"

	"situ.gitops/planner/kruise"
)

// Fields prints what becomes of each field of the OpenKruise kinds.
func (p Printer) Fields(fields []kruise.Field) error {
	switch p.Format {
	case JSON:
		return p.json(fields)
	case Markdown:
		return p.fieldsMarkdown(fields)
	}
	page := p.page()
	width, kind := 0, ""
	for _, f := range fields {
		width = max(width, len(fieldPath(f)))
	}
	for _, f := range fields {
		if f.Kind != kind {
			if kind != "" {
				page.line("")
			}
			kind = f.Kind
			page.line("%s", page.paint(bold, kind))
		}
		page.line("  %-*s  %s  %s", width, fieldPath(f), page.cell(supportColor[f.Support], string(f.Support), 7), f.Text)
	}
	return p.write(page)
}

var supportColor = map[kruise.Support]string{kruise.Works: green, kruise.Mapped: cyan, kruise.Dropped: yellow, kruise.Refused: red}

// fieldPath is a field with the version that alone has it.
func fieldPath(f kruise.Field) string {
	if f.Since == "" {
		return f.Path
	}
	return fmt.Sprintf("%s (%s)", f.Path, f.Since)
}

func (p Printer) fieldsMarkdown(fields []kruise.Field) error {
	page, kind := p.page(), ""
	for _, f := range fields {
		if f.Kind != kind {
			if kind != "" {
				page.line("")
			}
			kind = f.Kind
			page.line("## %s", kind)
			page.line("")
			page.line("| field | support | what that means |")
			page.line("|---|---|---|")
		}
		page.line("| `%s` | **%s** | %s |", fieldPath(f), f.Support, escape(f.Text))
	}
	return p.write(page)
}
