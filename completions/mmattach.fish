# SPDX-License-Identifier: MIT
# Completion of mmattach for fish. mmattach itself answers what can follow (attach/cli/complete.h).

function __mmattach_complete
	set -l before (commandline -opc)
	set -l word (commandline -ct)
	for line in ($before[1] complete $before[2..] "$word" 2>/dev/null)
		switch $line
			case ':files'
				# --report=na: the name is what follows the =
				set -l option (string match -r -- '^--[^=]*=' "$word")
				set -l name (string replace -r -- '^--[^=]*=' '' "$word")
				for file in (__fish_complete_path "$name")
					echo "$option$file"
				end
			case ':program'
				__fish_complete_command
			case '*'
				echo $line
		end
	end
end

complete -c mmattach -f -a '(__mmattach_complete)'
