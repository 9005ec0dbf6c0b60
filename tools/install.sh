#!/bin/sh
# install.sh ENVIRONMENT EXTRA: make a virtual environment and install into it, once.
#
# EXTRA is an extra of pyproject.toml, or what gets an environment of its own: a peer (oracle:
# TensorFlow; oracle115: TensorFlow 1.15; torch: PyTorch), mutate (the tests, and what `make mutate`
# needs), or binder (what binder/ describes). Writes ENVIRONMENT/.installed-EXTRA when done. Needs a
# POSIX shell and Python 3.11 or newer; PYTHON= names one, else the newest found is taken. For
# TensorFlow 1.15 it is Python 3.7, the last that it has packages for; PYTHON37= names one.
set -eu

environment=$1
extra=$2
cd "$(dirname "$0")/.."

fits() {
    if [ "$extra" = oracle115 ]; then
        "$1" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 7))' >/dev/null 2>&1
        return
    fi
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    if [ "$extra" = oracle115 ]; then
        python=$(command -v "${PYTHON37:-python3.7}" || true)
        if [ -n "$python" ] && fits "$python"; then echo "$python"; return; fi
        echo "TensorFlow 1.15 needs Python 3.7, and ${PYTHON37:-python3.7} is none: make oracle TENSORFLOW=1.15 PYTHON37=/path/to/python3.7" >&2
        return 1
    fi
    if [ -n "${PYTHON:-}" ]; then
        if fits "$PYTHON"; then echo "$PYTHON"; return; fi
        echo "PYTHON=$PYTHON is not Python 3.11 or newer (or does not start)." >&2
        return 1
    fi
    # python3 first: it is the one the person uses. 3.14 last: some wheels may not be there yet.
    # What binder/ describes has the Python that it names.
    wanted=
    if [ "$extra" = binder ]; then wanted=$(sed 's/-//' binder/runtime.txt); fi
    for name in $wanted python3 python python3.13 python3.12 python3.11 python3.14; do
        if command -v "$name" >/dev/null 2>&1 && fits "$name"; then
            command -v "$name"
            return
        fi
    done
    found=$(python3 --version 2>&1 || echo "no python3 at all")
    echo "Python 3.11 or newer is needed; found: $found." >&2
    echo "Install one (Debian: apt-get install python3 python3-venv; macOS: brew install python;" >&2
    echo "or python.org), or name it: make lab PYTHON=/path/to/python3.12" >&2
    return 1
}

make_environment() {
    python=$(find_python)
    echo "Making $environment with $("$python" --version) ($python)"
    if "$python" -m venv "$environment" >"$lock/venv.log" 2>&1; then return; fi
    # Debian keeps ensurepip in a package of its own; a pip or virtualenv beside it does as well.
    if "$python" -m virtualenv --version >/dev/null 2>&1; then
        "$python" -m virtualenv --quiet --clear "$environment"
    elif "$python" -m pip --version >/dev/null 2>&1 \
        && "$python" -m venv --clear --without-pip "$environment"; then
        "$python" -m pip --python "$environment/bin/python" install --quiet pip
    else
        cat "$lock/venv.log" >&2
        echo "This Python cannot make virtual environments. On Debian and Ubuntu:" >&2
        echo "  apt-get install python3-venv" >&2
        rm -rf "$environment"
        return 1
    fi
}

is_complete() {
    [ -f "$stamp" ] && [ ! pyproject.toml -nt "$stamp" ] && [ ! tools/install.sh -nt "$stamp" ] &&
        [ ! binder/requirements.txt -nt "$stamp" ]
}

stamp=$environment/.installed-$extra
lock=$environment.lock

# mkdir is the one lock that every POSIX system has; the process id inside tells a live holder
# from one that was killed.
announced=
until mkdir "$lock" 2>/dev/null; do
    holder=$(cat "$lock/pid" 2>/dev/null || echo)
    if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
        # Renamed first: of several that notice, one takes it away.
        mv "$lock" "$lock.stale.$$" 2>/dev/null && rm -rf "$lock.stale.$$"
        continue
    fi
    if [ -z "$announced" ]; then
        echo "Waiting for another installation into $environment${holder:+ (process $holder)}..."
        echo "If none is running, remove $lock."
        announced=yes
    fi
    sleep 1
done
trap 'rm -rf "$lock"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
echo $$ >"$lock/pid"

# Whoever held the lock may have done the work.
if is_complete; then exit 0; fi

if ! { [ -x "$environment/bin/python" ] && fits "$environment/bin/python"; }; then
    make_environment
fi
# In an environment of uv's there is no pip.
if ! "$environment/bin/python" -m pip --version >/dev/null 2>&1; then
    "$environment/bin/python" -m ensurepip --default-pip >/dev/null
fi

# uv, where it can be had: it downloads and unpacks side by side, in a quarter of pip's time. It asks
# the index that pip is told to ask. DATAFLOW_UV=0 is pip's way; so is uv's failing.
install_with_uv() {
    if [ "${DATAFLOW_UV:-1}" = 0 ]; then return 1; fi
    case $extra in binder | torch | oracle115) return 1 ;; esac
    uv=$(command -v uv || true)
    if [ -z "$uv" ]; then
        echo "1 of 2: uv, which installs the rest quickly"
        "$environment/bin/python" -m pip install --quiet --disable-pip-version-check uv || return 1
        uv=$environment/bin/uv
        [ -x "$uv" ] || return 1
    fi
    index=${PIP_INDEX_URL:-$("$environment/bin/python" -m pip config get global.index-url 2>/dev/null || true)}
    if [ -n "${PIP_CERT:-}" ]; then export SSL_CERT_FILE="${SSL_CERT_FILE:-$PIP_CERT}"; fi
    echo "2 of 2: the packages of $extra (about 1 GB for the lab and the tests)"
    "$uv" pip install --python "$environment/bin/python" ${index:+--index-url "$index"} "$@" || {
        echo "uv could not install them all; pip tries."
        return 1
    }
}

echo "Installing $extra into $environment (a minute or two the first time)"
case $extra in
    oracle)
        # 2.15 is the last TensorFlow with estimators and feature columns, and runs up to Python 3.11.
        if "$environment/bin/python" -c 'import sys; sys.exit(sys.version_info >= (3, 12))'; then
            set -- 'tensorflow-cpu==2.15.*'
        else
            set -- tensorflow-cpu tf-keras
        fi
        ;;
    oracle115) set -- tensorflow==1.15.5 'protobuf<3.21' ;;
    torch) set -- torch numpy ;; # which PyTorch hands arrays over to, and does not bring
    mutate) set -- --editable ".[test]" cosmic-ray coverage ;;
    # As repo2docker installs: pip, in the root of the repository.
    binder) set -- --requirement binder/requirements.txt ;;
    *) set -- --editable ".[$extra]" ;;
esac
install_with_uv "$@" ||
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
case $extra in
    site | test | dev | mutate)
        # What a notebook's kernel in WebAssembly needs of the very release, pure Python all of it.
        "$environment/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps \
            --python-version 3.13 --only-binary=:all: --dest "$environment/pyodide" \
            micropip==0.11.0 ipython==9.0.2 decorator==5.2.1
        ;;
esac
case $extra in
    test | dev | mutate)
        # Python for WebAssembly, on which tests run the engine and the site of `make site`.
        if command -v npm >/dev/null 2>&1; then
            npm install --prefix "$environment/pyodide" --silent --no-audit --no-fund pyodide@0.29.3 ||
                echo "npm could not get Pyodide: tests in WebAssembly are skipped."
        else
            echo "No npm here: tests in WebAssembly are skipped (Debian: apt-get install nodejs npm)."
        fi
        ;;
esac
: >"$stamp"
