package reload

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"stile/tests/rig"
)

// manager does for stile what systemd does for a service with a socket unit: it
// holds the listening socket while services come and go (sd_listen_fds(3)), and
// hears their states (sd_notify(3)).
type manager struct {
	States *rig.Lines // READY=1 and its like, one a line

	socket *os.File
	notify *net.UnixConn
	at     string
}

// manage makes the socket at which the rig's Postfix expects stile, with the
// mode and group of deploy/systemd/stile.socket.
func manage(s *rig.Stile) (*manager, error) {
	folder, err := os.Stat(filepath.Dir(s.Socket))
	if err != nil {
		return nil, err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.Socket})
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	ln.SetUnlinkOnClose(false)
	m := &manager{States: rig.NewLines(), at: filepath.Join(filepath.Dir(s.Config), "notify")}
	if m.socket, err = ln.File(); err != nil {
		return nil, err
	}
	// The folder's setgid bit gave it Postfix's group.
	if folder.Mode()&os.ModeSetgid == 0 {
		return nil, fmt.Errorf("%s is not of Postfix's group", s.Socket)
	}
	if err := os.Chmod(s.Socket, 0o660); err != nil {
		return nil, err
	}
	if m.notify, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.at}); err != nil {
		return nil, err
	}
	if err := os.Chmod(m.at, 0o666); err != nil {
		return nil, err
	}
	go m.listen()
	s.Activate = m.activate
	return m, nil
}

// listen hears states until the manager is closed.
func (m *manager) listen() {
	b := make([]byte, 4096)
	for {
		n, err := m.notify.Read(b)
		if err != nil {
			return
		}
		fmt.Fprintln(m.States, strings.ReplaceAll(string(b[:n]), "\n", " "))
	}
}

// activate hands the socket over. The variable that names the process must hold
// its own id, which a shell knows before it becomes the service.
func (m *manager) activate(cmd *exec.Cmd) {
	cmd.Args = append([]string{"sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`}, cmd.Args...)
	cmd.Path = "/bin/sh"
	cmd.Env = append(cmd.Env, "LISTEN_FDS=1", "NOTIFY_SOCKET="+m.at)
	cmd.ExtraFiles = []*os.File{m.socket}
}

func (m *manager) close() {
	m.socket.Close()
	m.notify.Close()
}
