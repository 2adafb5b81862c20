//! The command line of a virtual machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::MachineConfig;
use super::accelerator::Accelerator;
use super::image::Image;

/// The console shows what systemd and its units say; nothing that costs time serves a machine that lives for minutes.
const KERNEL_COMMAND_LINE: &str = "console=ttyS0 quiet panic=-1 systemd.show_status=true TERM=dumb mitigations=off \
    audit=0 apparmor=0 selinux=0";
/// With two, the emulation can miss code that the guest's kernel patches on the other one, and that kernel panics.
const PROCESSORS: &str = "1";
/// Then it is called "ens5", as on AWS.
const CARD_SLOT: &str = "5";

/// What belongs to one machine, all in one folder.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) disk: PathBuf,
    pub(super) initrd: PathBuf,
    pub(super) console: PathBuf,
    pub(super) agent: PathBuf,
    pub(super) log: PathBuf,
}

impl Files {
    pub(super) fn below(folder: &Path) -> Self {
        Self {
            disk: folder.join("disk.qcow2"),
            initrd: folder.join("initrd"),
            console: folder.join("console.log"),
            agent: folder.join("agent.sock"),
            log: folder.join("qemu.log"),
        }
    }
}

/// A disk that holds only what differs from the image's.
pub(super) fn make_disk(image: &Image, files: &Files) -> Command {
    let mut command = Command::new("qemu-img");
    command.args(["create", "-q", "-f", "qcow2", "-F", "qcow2", "-b"]);
    command.arg(&image.disk).arg(&files.disk);
    command
}

/// A machine with nothing in it, which ends where it would start again.
pub(super) fn bare(accelerator: Accelerator) -> Command {
    let mut command = Command::new("qemu-system-x86_64");
    command
        .args(["-nodefaults", "-no-user-config", "-no-reboot"])
        .args(["-display", "none"])
        .args(accelerator.arguments());
    command
}

/// A machine without a network, whose first program is `program` and not systemd.
pub(super) fn alone(image: &Image, memory: u32, program: &str, files: &Files) -> Command {
    let words = format!("{KERNEL_COMMAND_LINE} first={program}");
    with_disk(image, memory, &words, &files.initrd, files)
}

pub(super) fn run(image: &Image, config: &MachineConfig, initrd: &Path, files: &Files) -> Command {
    let mut command = with_disk(image, config.memory, KERNEL_COMMAND_LINE, initrd, files);
    command.args(["-name", &config.name]);
    command.args(["-smbios", &firmware(&config.instance)]);
    if let Some(clock) = config.clock {
        command.args(["-rtc", &format!("base={}", clock.strftime("%Y-%m-%dT%H:%M:%S"))]);
    }
    command
        .arg("-netdev")
        .arg(format!("tap,id=network,ifname={},script=no,downscript=no", config.tap));
    command.arg("-device").arg(format!(
        "virtio-net-pci,netdev=network,mac={},addr={CARD_SLOT},romfile=",
        config.mac
    ));
    command
        .args(["-device", "virtio-serial-pci", "-chardev"])
        .arg(option("socket,id=agent,server=on,wait=off,path=", &files.agent));
    command.args(["-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0"]);
    command
}

/// A disk, and a console.
fn with_disk(image: &Image, memory: u32, words: &str, initrd: &Path, files: &Files) -> Command {
    let mut command = bare(image.accelerator);
    command
        .args(["-machine", "pc"])
        .args(["-smp", PROCESSORS, "-m", &memory.to_string()]);
    command.arg("-kernel").arg(&image.kernel);
    command.arg("-initrd").arg(initrd).args(["-append", words]);
    command
        .arg("-drive")
        .arg(option("if=virtio,format=qcow2,cache=unsafe,file=", &files.disk));
    command
        .arg("-chardev")
        .arg(option("file,id=console,append=on,path=", &files.console))
        .args(["-serial", "chardev:console"]);
    command
}

/// By what cloud-init knows an instance of EC2: a serial number that begins with "ec2", and a UUID that is the same.
/// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/identify_ec2_instances.html>
fn firmware(instance: &str) -> String {
    let digits = format!("{:0<17}", instance.trim_start_matches("i-"));
    let [first, second, third, fourth] = [&digits[..5], &digits[5..9], &digits[9..13], &digits[13..17]];
    let uuid = format!("ec2{first}-{second}-{third}-{fourth}-000000000000");
    format!("type=1,manufacturer=Amazon EC2,uuid={uuid},serial={uuid}")
}

fn option(start: &str, path: &Path) -> OsString {
    let mut option = OsString::from(start);
    option.push(path);
    option
}
