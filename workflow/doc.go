// Package workflow is the model: plain data that every notation becomes, every
// check reads and every driver runs. It is a leaf: it imports no other
// package of Hocket.
//
// A [Workflow] holds one acyclic [Graph] of nodes and edges. Iteration exists
// only as a [Loop] or an [Each], whose body is again an acyclic graph, so order,
// joins and ends can be decided for each graph separately. Programs build a
// workflow with [Sequence] and [Steps].
//
// Three rules keep the model independent of notations, agents and stores:
//
//  1. No field exists only for one notation, agent or store. Options that only
//     an agent understands are in [Task.Settings].
//  2. References are stored in canonical form (`inputs.x`, `vars.x`,
//     `nodes.id.output`, …), whatever the author wrote. What the author wrote
//     is kept next to it in a [Source], for diagnostics only.
//  3. Positions, titles and colours never change what a workflow means, so
//     [Digest] leaves them out.
package workflow
