// Package workflow is the model: plain data that every notation becomes, every
// check reads and every driver runs. It is a leaf: it imports no other
// package of Hocket.
//
// A [Workflow] holds one acyclic [Graph] of nodes and edges. Iteration exists
// only as a [Loop] or an [Each], whose body is a graph again, so every question
// of order, joining and ending is answered one acyclic graph at a time. Programs
// build one with [Sequence] and [Steps].
//
// Three rules keep the waist narrow:
//
//  1. No field exists for one notation, one agent or one store alone. What only
//     an agent understands is in [Task.Settings].
//  2. References are stored in canonical form (`inputs.x`, `vars.x`,
//     `nodes.id.output`, …), whatever the author wrote. What the author wrote
//     stays beside it in a [Source], for diagnostics only.
//  3. Positions, titles and colours never change what a workflow means, so
//     [Digest] leaves them out.
package workflow
