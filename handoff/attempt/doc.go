// Package attempt runs one attempt at a task that another agent handed off. It tells the agent what
// is asked for and how to answer, limits where it may write, and afterwards checks what it has
// delivered. The host wraps every attempt with it; tasks that were not handed off are unaffected.
//
// A task was handed off if it has the setting [agent.HandoffSetting], see [Handoff].
package attempt
