module github.com/hocket-dev/hocket/driver/temporal

go 1.26.0

require (
	go.temporal.io/api v1.63.5
	go.temporal.io/sdk v1.50.0
	google.golang.org/protobuf v1.36.11
)
