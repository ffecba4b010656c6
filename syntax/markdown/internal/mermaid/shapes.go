package mermaid

import "strings"

// shapeNames are the names that @{ shape: … } may have in Mermaid 12.
var shapeNames = strings.Fields(`
	anchor bang bolt bow-rect bow-tie-rectangle brace brace-l brace-r braces card
	choice circ circle cloud collate com-link comment cross-circ crossed-circle
	curv-trap curved-trapezoid cyl cylinder das database db dbl-circ decision delay
	diam diamond disk display div-proc div-rect divided-process divided-rectangle
	doc docs document documents double-circle doublecircle event extract f-circ
	filled-circle flag flip-tri flipped-triangle fork fr-circ fr-rect framed-circle
	framed-rectangle h-cyl half-rounded-rectangle hex hexagon horizontal-cylinder
	hourglass icon in-out internal-storage inv-trapezoid join junction lean-l
	lean-left lean-r lean-right lightning-bolt lin-cyl lin-doc lin-proc lin-rect
	lined-cylinder lined-document lined-process lined-rectangle loop-limit manual
	manual-file manual-input notch-pent notch-rect notched-pentagon
	notched-rectangle note odd out-in paper-tape pill prepare priority proc process
	processes procs question rect rectangle rounded shaded-process sl-rect
	sloped-rectangle sm-circ small-circle st-doc st-rect stacked-document
	stacked-rectangle stadium start state stop stored-data subproc subprocess
	subroutine summary tag-doc tag-proc tag-rect tagged-document tagged-process
	tagged-rectangle terminal text trap-b trap-t trapezoid trapezoid-bottom
	trapezoid-top tri triangle win-pane window-pane
	` + shapesSince12)

// shapesSince12 are those that Mermaid 11 does not know.
const shapesSince12 = `
	bpmn-activity bpmn-annotation bpmn-boundary bpmn-data bpmn-data-store bpmn-end
	bpmn-gateway bpmn-intermediate bpmn-start browser bucket composite console
	data-store datastore directory folder person `

var isShapeName = func() map[string]bool {
	m := make(map[string]bool, len(shapeNames))
	for _, name := range shapeNames {
		m[name] = true
	}
	return m
}()
