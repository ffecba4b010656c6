package temporal

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/workflow"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// UnreachableError reports that the server does not answer.
type UnreachableError struct {
	Address string
	Err     error
}

func unreachable(o client.Options, err error) error {
	address := cmp.Or(o.HostPort, client.DefaultHostPort)
	return &UnreachableError{address, cmp.Or(rejected(address, o.ConnectionOptions.TLS), err)}
}

// rejected returns why a server does not want us, such as without a certificate; nil if it does not say so. With TLS 1.3, it says that when the client
// has connected. gRPC, which writes then, may only find that the connection is closed.
func rejected(address string, config *tls.Config) error {
	if config == nil {
		return nil
	}
	config = config.Clone()
	config.NextProtos = []string{"h2"}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil { // gRPC has said the same
		return nil
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	_ = conn.SetReadDeadline(deadline)
	_, err = conn.Read(make([]byte, 1))
	if alert := (*net.OpError)(nil); errors.As(err, &alert) && alert.Op == "remote error" {
		return err
	}
	return nil
}

func (e *UnreachableError) Error() string {
	why := strings.TrimPrefix(e.Err.Error(), "failed reaching server: ")
	if _, quoted, ok := strings.Cut(why, "desc = "); ok {
		if text, err := strconv.Unquote(quoted); err == nil {
			why = strings.TrimPrefix(strings.TrimPrefix(text, "transport: "), "Error while dialing: ")
		}
	}
	return fmt.Sprintf("cannot reach the Temporal server at %s: %s", e.Address, why)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// Hint returns what to do about it.
func (e *UnreachableError) Hint() string {
	return "start it, or correct `address` and `tls` under `temporal` in config.yml, or TEMPORAL_ADDRESS; `temporal server start-dev` starts one on this machine"
}

// Examine says whether the server and the store have what runs need.
func (d *Driver) Examine(ctx context.Context) []driver.Finding {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	all := []driver.Finding{{What: "driver", Found: "temporal, with the server at " + d.o.Client.HostPort}}
	res, err := d.client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: d.namespace()})
	switch {
	case errors.As(err, new(*serviceerror.NamespaceNotFound)):
		return append(all, driver.Finding{What: "namespace", Broken: true, Found: d.namespace() + " does not exist", Remedy: "run `hocket migrate`, which creates it, or correct `namespace` in config.yml"})
	case err != nil:
		all = append(all, driver.Finding{What: "namespace", Broken: true, Found: d.namespace() + ": " + err.Error()})
	default:
		keeps := res.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
		all = append(all, driver.Finding{What: "namespace", Found: fmt.Sprintf("%s, where ended runs are kept for %s, and then in the store", d.namespace(), workflow.FormatDuration(keeps))})
	}
	return append(all, d.examineQueue(ctx), d.examineStore(ctx))
}

func (d *Driver) examineQueue(ctx context.Context) driver.Finding {
	f := driver.Finding{What: "workers"}
	workers, err := d.workers(ctx)
	var names []string
	for _, w := range workers {
		names = append(names, w.String())
	}
	switch {
	case err != nil:
		f.Broken, f.Found = true, "queue "+d.project+": "+err.Error()
	case len(names) == 0:
		f.Found, f.Remedy = fmt.Sprintf("none serves the queue %s with this store, so runs wait", d.project), "run `hocket worker` on a machine with the project, and with the same store"
	default:
		f.Found = strings.Join(names, ", ") + " on the queue " + d.project
	}
	return f
}

func (d *Driver) examineStore(ctx context.Context) driver.Finding {
	const key = "examined"
	err := d.o.Store.Put(ctx, key, []byte(d.name))
	if err == nil {
		_, err = d.o.Store.Get(ctx, key)
	}
	if err != nil {
		return driver.Finding{What: "store", Broken: true, Found: err.Error(), Remedy: "correct `store` under `temporal` in config.yml; all machines must be able to read and write it"}
	}
	if runs, own, err := d.strangers(ctx); err != nil || len(runs) > 0 {
		f := driver.Finding{What: "store", Broken: own == 0, Found: fmt.Sprintf("%s, but %s", d.o.Store, d.elsewhere(runs))}
		if err != nil {
			f.Broken, f.Found = true, fmt.Sprintf("%s: %v", d.o.Store, err)
		}
		f.Remedy = "set `store` under `temporal` in config.yml to the same place on all machines; if the runs belong to another project, set another `queue`"
		return f
	}
	return driver.Finding{What: "store", Found: fmt.Sprint(d.o.Store)}
}

// strangers returns the runs of the queue that use another store, and how many use this one.
func (d *Driver) strangers(ctx context.Context) (runs []string, own int, err error) {
	found, err := d.executions(ctx, "")
	for id, e := range found {
		if _, err := d.factsOf(e); errors.Is(err, errStore) {
			runs = append(runs, id)
		} else {
			own++
		}
	}
	slices.Sort(runs)
	return runs, own, err
}

// elsewhere says that runs use another store; "" if there are none.
func (d *Driver) elsewhere(runs []string) string {
	if len(runs) == 0 {
		return ""
	}
	return fmt.Sprintf("runs of the queue %s use another store: %d, such as %s", d.project, len(runs), runs[0])
}

// Notice says which runs lists lack because they use another store.
func (d *Driver) Notice(ctx context.Context) (string, error) {
	runs, _, err := d.strangers(ctx)
	if err != nil || len(runs) == 0 {
		return "", err
	}
	return fmt.Sprintf("%s, so this list lacks them: check that `store` under `temporal` in config.yml is the same place on all machines, and that its file system is mounted; for another project, set another `queue`; only if their store is lost, `%s` deletes one on the server",
		d.elsewhere(runs), d.deletion(runs[0])), nil
}

// deletion returns the command that deletes a run on the server only.
func (d *Driver) deletion(run string) string {
	return fmt.Sprintf("temporal workflow delete --address %s --namespace %s --workflow-id %s", d.o.Client.HostPort, d.namespace(), d.flowID(run))
}

var _ driver.Noticer = (*Driver)(nil)
