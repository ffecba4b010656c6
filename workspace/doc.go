// Package workspace gives agents directories of their own, with git. A workspace is a commit: it
// is captured from the user's checkout, checked out into a new directory for every attempt,
// collected from there, compared, merged, and landed in the checkout again. The package imports
// neither the engine nor the host.
//
// A [Store] is a private bare repository in the state directory that borrows the objects of the
// user's repository. The user's .git is written for two purposes only: refs in refs/hocket/RUN
// keep the commits that a run depends on from being pruned, and [Store.Land] lands.
//
// # What is captured
//
//   - Tracked files and untracked ones, staged or not. Ignored files only if a pattern of
//     .worktreeinclude, in the syntax of .gitignore, or of the caller matches them.
//   - Submodules and other repositories inside the project stay as the commit that they are at.
//     Changes in them are not captured, their directories are empty in workspaces, and
//     [Base.Warnings] names them. A repository without commits is an error.
//   - Filters do not run. Files of Git LFS are pointers in workspaces; one that was changed in the
//     checkout is captured with its content. Conversions of line ends take place as in the checkout.
//   - Files marked assume-unchanged or skip-worktree are captured as they are in the index.
//
// A rebase or merge in progress does not matter, unless there are unmerged files: these are an
// error, since agents would take conflict markers for text. A shallow repository works, also a
// partial clone that has all files of the commit: nothing is ever fetched. Otherwise it is an error that says what to do.
//
// # What is not trusted
//
// Agents can write anything into a workspace, also into its .git. No git command of this package
// reads the configuration, the index, the hooks or the attributes' drivers of a workspace: the
// commands use a repository of their own, see [repository], and an index beside the workspace. Only HEAD and objects are
// taken from a workspace, and the hash of each object is checked. Git never looks into another repository in a workspace: whoever
// looks for changes there reads its configuration. When an attempt has ended, its .git is made harmless
// for people, too. No link in a workspace is followed on the way to a file or a working directory.
package workspace
