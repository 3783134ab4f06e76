#!/usr/bin/env bash
# test/house/dev_test.sh ROOT FOLDER — what ./dev promises, seen on a small copy of the tree in FOLDER.
set -uo pipefail
root=$1 copy="$2/a copy"
failures=0

same() {  # WHAT EXPECTED ACTUAL
  [ "$2" = "$3" ] && return
  printf '%s\n  expected: %s\n  was:      %s\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}
holds() {  # WHAT TEXT PART
  [[ $2 == *"$3"* ]] && return
  printf '%s\n  expected in it: %s\n  was:            %s\n' "$1" "$3" "$2"
  failures=$((failures + 1))
}

rm -rf "$copy" && mkdir -p "$copy/docs/example" "$copy/elsewhere" || exit
cp -r "$root/dev" "$root/CMakeLists.txt" "$root/CMakePresets.json" "$root/include" "$copy" || exit
cp "$root/docs/example/CMakeLists.txt" "$copy/docs/example"
cat >"$copy/docs/example/tell.cpp" <<'END'
#include <cstdio>
#include <filesystem>
int main(int count, char** words) {
  for (int i = 1; i < count; ++i) std::printf("[%s]", words[i]);
  std::puts(std::filesystem::current_path().filename().c_str());
  return 7;
}
END
cd "$copy/elsewhere" || exit

said=$(../dev example tell 'a b' '' '*' 2>/dev/null)
same "an example's exit status is passed on" 7 $?
same "an example gets its words, stands where its user stands, and has standard output to itself" '[a b][][*]elsewhere' "$said"
said=$(../dev example nobody 2>&1)
same "an example that is not there is misuse" 2 $?
holds "the examples that are there are named" "$said" tell
../dev example ../example/tell >/dev/null 2>&1
same "an example is a name and no path" 2 $?
../dev prove >/dev/null 2>&1
same "an unknown command is misuse" 2 $?
../dev check nothing >/dev/null 2>&1
same "an unknown row is misuse" 2 $?
../dev check '' >/dev/null 2>&1
same "an empty row is misuse, not all of them" 2 $?

# Every command that the help lists is one.
dispatched=$(grep '"command_\$1"' ../dev)
for command in $(../dev | sed -nE 's/^  ([a-z]+) .*/\1/p'); do
  grep -q "^command_$command()" ../dev || same "./dev $command, of the help" "a function" none
  [[ $dispatched =~ (^|[^a-z])$command([^a-z]|$) ]] || same "./dev $command, of the help" dispatched "not dispatched"
done

# What this machine has is not installed again, so only the words can be looked at.
said=$(sed -nE '/^install\(\)/,/^}/p' ../dev)
holds "apt is told to remove nothing" "$said" "apt-get --yes --no-remove --no-install-recommends"

[ $failures = 0 ] || exit 1
echo "./dev keeps its promises"
