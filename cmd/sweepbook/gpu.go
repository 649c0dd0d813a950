package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/gpu"
)

func (a *app) gpuCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:  "gpu",
		Usage: "look after the GPUs of this machine and what runs on them",
		Commands: []*cli.Command{
			a.command(&cli.Command{
				Name: "list", Usage: "show each GPU with its memory in use, the run that holds it and its quarantine",
				Action: a.gpuListAction,
			}),
			a.command(&cli.Command{
				Name: "release", Usage: "lift the quarantine of a GPU", ArgsUsage: "UUID|INDEX",
				Flags:  []cli.Flag{&cli.StringFlag{Name: "reason", Usage: "`WHY` it may be used again; kept"}},
				Action: a.gpuReleaseAction,
			}),
			a.command(&cli.Command{
				Name: "reap", Usage: "end servers that a dead run left behind; nothing that is not provably ours",
				Action: a.gpuReapAction,
			}),
		},
	})
}

func (a *app) gpuListAction(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Present() {
		return unknownCommand(ctx, cmd)
	}
	quarantine, err := a.quarantine()
	if err != nil {
		return err
	}
	records, err := quarantine.All()
	if err != nil {
		return err
	}
	devices, err := gpu.SMI{}.Devices(ctx)
	if err != nil {
		// What is in quarantine is shown all the same.
		a.warn("GPUs cannot be listed: %v", err)
	}
	locks := gpu.Locks{Dir: a.lockDir()}
	var rows [][]string
	for _, d := range devices {
		row := []string{strconv.Itoa(d.Index), d.UUID, d.Name, d.UsedMiB.String(), "", ""}
		by, held, err := locks.Holder(d.UUID)
		if err != nil {
			return fmt.Errorf("gpu list: %w", err)
		}
		if held {
			row[4] = fmt.Sprintf("study %q, process %d, since %s", by.Study, by.PID, by.Since.Format(time.RFC3339))
		}
		records = slices.DeleteFunc(records, func(r gpu.Record) bool {
			if r.UUID == d.UUID {
				row[5] = quarantineText(r)
			}
			return r.UUID == d.UUID
		})
		rows = append(rows, row)
	}
	for _, r := range records {
		rows = append(rows, []string{strconv.Itoa(r.Index), r.UUID, r.Name, "", "", quarantineText(r)})
	}
	return a.table(cmd, textTable([]string{"index", "uuid", "name", "used_mib", "held_by", "quarantine"}, rows))
}

func quarantineText(r gpu.Record) string {
	text := fmt.Sprintf("since %s: %s", r.Since.Format(time.RFC3339), r.Why)
	if r.Study != "" {
		text += fmt.Sprintf(" (study %q, process %d)", r.Study, r.RunPID)
	}
	return text
}

func (a *app) gpuReleaseAction(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 1 {
		return usagef("gpu release: want one GPU, by its UUID or index; sweepbook gpu list shows them")
	}
	reason := strings.TrimSpace(cmd.String("reason"))
	if reason == "" {
		return usagef("gpu release: say with --reason why the GPU may be used again")
	}
	quarantine, err := a.quarantine()
	if err != nil {
		return err
	}
	records, err := quarantine.All()
	if err != nil {
		return err
	}
	// Where the GPU cannot be asked it is known from its record.
	devices, smiErr := gpu.SMI{}.Devices(ctx)
	uuid, err := quarantined(cmd.Args().First(), records, devices)
	if err != nil {
		return fmt.Errorf("gpu release: %w", err)
	}
	if _, err := quarantine.Lift(uuid, reason, a.now()); err != nil {
		return fmt.Errorf("gpu release: %w", err)
	}
	for _, d := range devices {
		if d.UUID == uuid && d.UsedMiB.Kind == core.KindNumber && d.UsedMiB.Num > gpu.DefaultMaxUsedMiB {
			a.warn("%s still has %s MiB in use: the next launch is refused unless the study allows it", d, d.UsedMiB)
		}
	}
	if smiErr != nil {
		a.warn("how much of its memory is in use cannot be told: %v", smiErr)
	}
	fmt.Fprintln(a.stdout, uuid)
	return nil
}

// quarantined finds the record that a person means, by UUID, the beginning of one,
// or the index that the GPU has now.
func quarantined(name string, records []gpu.Record, devices []gpu.Device) (string, error) {
	var found []string
	for _, r := range records {
		index := r.Index
		for _, d := range devices {
			if d.UUID == r.UUID {
				index = d.Index
			}
		}
		switch {
		case name == r.UUID:
			return r.UUID, nil
		case name == strconv.Itoa(index), len(name) > len("GPU-") && strings.HasPrefix(r.UUID, name):
			found = append(found, r.UUID)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("GPU %q is not in quarantine: %w", name, core.ErrNotFound)
	}
	return "", fmt.Errorf("GPU %q: %w: it may be %s; write the UUID in full", name, core.ErrInvalid, strings.Join(found, " or "))
}

func (a *app) gpuReapAction(ctx context.Context, cmd *cli.Command) error {
	if err := needLinux("gpu reap"); err != nil {
		return err
	}
	path, _, err := a.databasePath(cmd)
	if err != nil {
		return err
	}
	reaped, err := reap(ctx, workDir(path))
	if err != nil {
		return fmt.Errorf("gpu reap: %w", err)
	}
	var rows [][]string
	for _, r := range reaped {
		if r.Skipped != "" {
			a.warn("%s left alone: %s", r.Handle.Marker, r.Skipped)
		}
		for _, p := range r.Killed {
			rows = append(rows, []string{fmt.Sprint(p.PID), p.Command})
		}
	}
	return a.table(cmd, textTable([]string{"pid", "command"}, rows))
}
