// SPDX-License-Identifier: MIT
// Of doc/recipes.md: every tenth Deflater is not ended, so zlib's memory for it stays.
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

public class Leak {
	static final List<Deflater> kept = new ArrayList<>();

	static void pack(int i) {
		Deflater d = new Deflater(9);
		if (i % 10 == 0)
			kept.add(d);
		else
			d.end();
	}

	public static void main(String[] args) throws Exception {
		System.out.println("ready " + ProcessHandle.current().pid());
		for (int i = 0;; i++) {
			pack(i);
			if (i % 100 == 0)
				Thread.sleep(100);
		}
	}
}
